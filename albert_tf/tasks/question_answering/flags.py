"""Fine-tunes and applies a model that answers questions on paragraphs.

  albert-tf squad --train_file=train-v1.1.json --predict_file=dev-v1.1.json \\
      --init_checkpoint=albert_base --output_dir=out --do_train --do_predict

The flags of the official run_squad_v1 and run_squad_v2 keep their meaning and defaults;
new ones stand beside them.

The command writes to --output_dir: model/ (the best checkpoint by F1 on
--predict_file), checkpoints/, predictions.json, nbest_predictions.json,
null_odds.json (SQuAD 2.0), eval_results.txt, and dev_errors.html, a page of the wrong
answers. docs/reading_comprehension.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.commands.flags import obey

# Official flags that only TPUEstimator needed, or that are unnecessary here: windows
# are cached in --cached_dir, under a hash of everything that determines them.
_IGNORED = (
    "master",
    "num_tpu_cores",
    "use_einsum",
    "train_feature_file",
    "predict_feature_file",
    "predict_feature_left_file",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadOptions(TaskOptions):
    """The flags of `albert-tf squad`."""

    do_eval: bool = altered(
        TaskOptions, "do_eval", help="Score the answers to --predict_file."
    )
    do_predict: bool = altered(
        TaskOptions,
        "do_predict",
        help="Answer the questions of --predict_file, and score the answers if the "
        "file has the right ones.",
    )
    train_file: str | None = option(
        "File of questions to learn from, in SQuAD's JSON layout.",
        None,
        may_change=True,  # its digest is a fact
    )
    predict_file: str | None = option(
        "File of questions to answer, in SQuAD's JSON layout.",
        None,
        may_change=True,  # its digest is a fact
    )
    version: int | None = option(
        "Version of SQuAD, 1 or 2; by default 2 if --train_file marks a question as "
        "impossible, and without --do_train the version of the model.",
        None,
        minimum=1,
        maximum=2,
    )
    max_seq_length: int = altered(
        TaskOptions,
        "max_seq_length",
        default=384,
        help="Largest length of a window in tokens; without --do_train the model's.",
    )
    doc_stride: int = option(
        "Number of tokens from the start of a window to the start of the next; "
        "without --do_train the model's.",
        128,
        minimum=1,
    )
    max_query_length: int = option(
        "Largest number of tokens of a question; longer ones lose their end. Without "
        "--do_train, the model's.",
        64,
        minimum=0,
    )
    n_best_size: int = option(
        "Number of candidates for each answer in nbest_predictions.json.", 20, minimum=1
    )
    max_answer_length: int = option(
        "Largest length of an answer, in tokens.", 30, minimum=1
    )
    null_score_diff_threshold: float | None = option(
        "SQuAD 2.0: null odds from which the model gives no answer; by default the "
        "best for --predict_file, and for a file without answers the best in "
        "training.",
        None,
    )
    start_n_top: int = option(
        "SQuAD 2.0: number of answer starts that the search follows.", 5, minimum=1
    )
    end_n_top: int = option(
        "SQuAD 2.0: number of answer ends that the search follows for each start.",
        5,
        minimum=1,
    )
    dropout_prob: float = option(
        "SQuAD 2.0: dropout before the class that says whether there is an answer.",
        0.1,
        minimum=0,
    )
    num_train_epochs: float = altered(
        TaskOptions,
        "num_train_epochs",
        default=3.0,
        help="Number of passes over the questions of --train_file.",
        replaces=("train_step",),
    )
    train_step: int | None = altered(
        TaskOptions,
        "train_step",
        default=None,
        help="Number of training steps; it replaces --num_train_epochs.",
    )
    warmup_proportion: float = altered(
        TaskOptions,
        "warmup_proportion",
        default=0.1,
        help="Share of all steps in which the learning rate rises linearly.",
        replaces=("warmup_step",),
    )
    warmup_step: int | None = altered(
        TaskOptions,
        "warmup_step",
        default=None,
        help="Number of steps in which the learning rate rises linearly; it replaces "
        "--warmup_proportion.",
    )

    @property
    def command(self):
        from albert_tf.tasks.question_answering import run

        return run

    def completed(self):
        """Resolves the alternative flags for steps and for warm-up steps."""
        changes = {}
        if self.train_step is not None:
            changes["num_train_epochs"] = None
        if self.warmup_step is not None:
            changes["warmup_proportion"] = None
        return dataclasses.replace(self, **changes)


def main(argv=None):
    """Fine-tunes, scores, answers and exports as the flags say."""
    run(SquadOptions, obey, ignored=_IGNORED, argv=argv)
