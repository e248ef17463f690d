"""The command line of classification."""

from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.tasks.classification.flags import ClassifierOptions

# Official flags that only TPUEstimator needed, or that this program makes needless.
_IGNORED = ("master", "num_tpu_cores", "threshold_to_export")


def main(argv=None):
    """Fine-tunes, evaluates, predicts and exports as the flags say."""
    command_line.run(ClassifierOptions, _classify, _IGNORED, argv)


@obeys_reading_flags
def _classify(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.classification.run import classify

    classify(options)
