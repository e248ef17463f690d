"""Draws the score of a model against the depth and the speed of its answers.

  python -m tools.early_exit --model_dir=out/model --eval_file=SST-2/dev.tsv \\
      --output_dir=curve

The model was fine-tuned with --early_exit. This writes early_exit.tsv and
early_exit.png: the score against the mean depth and against the measured speed, over
the thresholds of each rule. --keep_rule writes --exit_rule into the model directory.
docs/early_exit.md says more.
"""

import dataclasses

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.models.flags import AppliedExitFlags
from albert_tf.tasks.tables import ColumnFlags


@dataclasses.dataclass(frozen=True, kw_only=True)
class EarlyExitOptions(ColumnFlags, AppliedExitFlags, ReadingFlags):
    """The flags of `python -m tools.early_exit`."""

    model_dir: str = option("Model directory, fine-tuned with --early_exit.")
    eval_file: str | None = option(
        "Labelled file to score: a .tsv, .csv or .jsonl table, or of multiple choice "
        "a .jsonl file of questions.",
        None,
    )
    output_dir: str | None = option("Folder of the table and the picture.", None)
    batch_size: int = option("Number of rows answered at a time.", 32, minimum=1)
    timed_rows: int = option(
        "Number of rows of --eval_file whose answers are timed.", 128, minimum=1
    )
    keep_rule: bool = option(
        "Write --exit_rule and its numbers into --model_dir, which is served by them "
        "from then on.",
        False,
    )


@obeys_reading_flags
def early_exit(options):
    """Writes the curve, and the rule that the model is to keep.

    Raises:
        UserError: the model has no exit heads or the file does not fit it, or flags
            that would have no effect.
    """
    if options.keep_rule != (options.asked_rule is not None):
        raise UserError(
            "--keep_rule goes with --exit_rule, --exit_threshold or --exit_tolerance; "
            "give both or neither."
        )
    if (options.eval_file is None) != (options.output_dir is None):
        raise UserError("--eval_file and --output_dir go together; give both.")
    if options.eval_file is None and not options.keep_rule:
        raise UserError("Nothing to do: give --eval_file or --keep_rule.")
    options.check_columns_read(options.eval_file)
    # Imported here, so that --help does not wait for TensorFlow.
    from tools.exit_curve import draw_and_keep

    draw_and_keep(options)


def main(argv=None):
    """Runs the command line."""
    command_line.run(EarlyExitOptions, early_exit, argv=argv)


if __name__ == "__main__":
    main()
