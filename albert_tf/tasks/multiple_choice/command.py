"""The command line of multiple choice."""

from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.tasks.multiple_choice.flags import RaceOptions

# Official flags that only TPUEstimator needed, or that this program makes needless:
# rows are cached in --cached_dir, under a hash of what they are made from.
_IGNORED = (
    "master",
    "num_tpu_cores",
    "train_file",
    "eval_file",
    "predict_file",
    "num_keep_checkpoint",
)


def main(argv=None):
    """Fine-tunes, scores, chooses and exports as the flags say."""
    command_line.run(RaceOptions, _choose, _IGNORED, argv)


@obeys_reading_flags
def _choose(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.multiple_choice.run import choose

    choose(options)
