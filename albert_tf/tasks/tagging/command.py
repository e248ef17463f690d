"""The command line of tagging."""

from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.tasks.tagging.flags import TaggingOptions


def main(argv=None):
    """Fine-tunes, scores, tags and exports as the flags say."""
    command_line.run(TaggingOptions, _tag, argv=argv)


@obeys_reading_flags
def _tag(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.tagging.run import tag

    tag(options)
