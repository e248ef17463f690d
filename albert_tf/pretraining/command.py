"""The command line of pretraining."""

from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.pretraining.flags import PretrainingOptions

# Official flags that only TPUEstimator needed, or that never had an effect.
_IGNORED = ("masked_lm_budget", "master", "num_tpu_cores")


def main(argv=None):
    """Pretrains as the flags say."""
    command_line.run(PretrainingOptions, _pretrain, _IGNORED, argv)


@obeys_reading_flags
def _pretrain(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.pretraining.run import pretrain
    from albert_tf.pretraining.run import settings_of

    pretrain(settings_of(options))
