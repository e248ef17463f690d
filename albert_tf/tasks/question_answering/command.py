"""The command line of reading comprehension."""

from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.tasks.question_answering.flags import SquadOptions

# Official flags that only TPUEstimator needed, or that this program makes needless:
# windows are cached in --cached_dir, under a hash of what they are made from.
_IGNORED = (
    "master",
    "num_tpu_cores",
    "use_einsum",
    "train_feature_file",
    "predict_feature_file",
    "predict_feature_left_file",
)


def main(argv=None):
    """Fine-tunes, scores, answers and exports as the flags say."""
    command_line.run(SquadOptions, _answer_questions, _IGNORED, argv)


@obeys_reading_flags
def _answer_questions(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.question_answering.run import answer_questions

    answer_questions(options)
