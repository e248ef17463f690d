"""Fine-tunes and applies a model that answers questions by choosing among options.

  albert-tf race --data_dir=data --init_checkpoint=albert_base --output_dir=out \\
      --max_seq_length=512 --do_train --do_eval --do_predict

The flags of the official run_race keep their meaning; new ones stand beside them.
--init_checkpoint takes the same paths as in albert-tf classify.

--data_dir holds RACE as it is published (RACE/train/middle/*.txt …, or all.txt as the
official code reads it); with --task_name=c3, c3-d-train.json and its siblings; with
--task_name=custom, train.jsonl, dev.jsonl and test.jsonl, one question per line:
{"context": …, "question": …, "options": ["…", "…"], "label": 1}.

The command writes to --output_dir: model/ (the best checkpoint by accuracy on dev),
checkpoints/, eval_results.txt, predictions.jsonl, and <split>_errors.html, a page of
the wrong answers. docs/multiple_choice.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.commands.flags import obey

TASK_NAMES = ("race", "c3", "custom")
# Official flags that only TPUEstimator needed, or that are unnecessary here: rows are
# cached in --cached_dir, under a hash of everything that determines them.
_IGNORED = (
    "master",
    "num_tpu_cores",
    "train_file",
    "eval_file",
    "predict_file",
    "num_keep_checkpoint",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RaceOptions(EarlyExitFlags, TaskOptions):
    """The flags of `albert-tf race`."""

    do_eval: bool = altered(TaskOptions, "do_eval", help="Score the dev set.")
    do_predict: bool = altered(
        TaskOptions,
        "do_predict",
        help="Predict the test set, and score it if it has labels.",
    )
    task_name: str = option(
        "Layout of --data_dir: RACE, C3, or JSONL files of your own (custom).",
        "race",
        TASK_NAMES,
    )
    data_dir: str | None = option(
        "Folder of the questions, or (custom) such a hf://owner/name.",
        None,
        names="tables",
        may_change=True,  # its digest is a fact
    )
    high_only: bool = option(
        "Read only the high-school questions of --task_name=race.", False
    )
    middle_only: bool = option(
        "Read only the middle-school questions of --task_name=race.", False
    )
    max_qa_length: int = option(
        "Largest number of tokens of a question with an option; longer ones lose "
        "their beginning. Without --do_train, the model's.",
        128,
        minimum=1,
    )
    dropout_prob: float = option(
        "Dropout on the pooled output, in training.", 0.1, minimum=0
    )
    learning_rate: float = altered(TaskOptions, "learning_rate", default=1e-5)
    train_step: int = altered(TaskOptions, "train_step", default=12000)
    warmup_step: int = altered(TaskOptions, "warmup_step", default=1000)
    save_checkpoints_steps: int = altered(
        TaskOptions, "save_checkpoints_steps", default=100
    )

    @property
    def command(self):
        from albert_tf.tasks.multiple_choice import run

        return run


def main(argv=None):
    """Fine-tunes, scores, chooses and exports as the flags say."""
    run(RaceOptions, obey, ignored=_IGNORED, argv=argv)
