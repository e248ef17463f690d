"""Fine-tunes, evaluates and applies a text classifier or regressor.

  albert-tf classify --task_name=sst-2 --data_dir=glue --output_dir=out \\
      --init_checkpoint=albert_base --max_seq_length=128 --do_train --do_eval

The flags of the official run_classifier keep their meaning and defaults; new ones stand
beside them. --init_checkpoint may be a model directory of this project, an official
archive (unpacked or not), a Hugging Face directory, the prefix of a TF1 checkpoint, or
a model to download: hf://albert/albert-base-v2 or the URL of an archive.

For a table of your own, pass --data_file=messages.csv, which is split; or
--task_name=custom, and put train.*, dev.* and, if you like, test.* (.tsv, .csv or
.jsonl) into --data_dir. For raw text, pass --do_predict
with --input_text="…" or --input_file.

The command writes to --output_dir: model/ (the best checkpoint by the first metric on
dev, which the official scripts choose, too), checkpoints/, eval_results.txt,
test_results.tsv, and the file for the GLUE server. docs/finetuning.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.tasks.classification.labels import BALANCED
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.commands.flags import obey
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.splitting import SplitFlags
from albert_tf.tasks.tables import CUSTOM
from albert_tf.tasks.tables import ColumnFlags

# Official flags that only TPUEstimator needed, or that are unnecessary here.
_IGNORED = ("master", "num_tpu_cores", "threshold_to_export")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassifierOptions(
    ColumnFlags, SplitFlags, LongTexts, EarlyExitFlags, TaskOptions
):
    """The flags of `albert-tf classify`."""

    task_name: str | None = option(
        "Name of a GLUE task such as sst-2, or custom for tables of your own, which "
        "--data_file implies.",
        None,
    )
    data_dir: str | None = option(
        "Folder of the GLUE data or of your own tables, or the hf://owner/name of a "
        "repository of tables.",
        None,
        names="tables",
        replaces=("data_file", "dev_fraction", "test_fraction", "group_column"),
        may_change=True,  # its digest is a fact
    )
    label_kind: str = option(
        "Kind of label in your own table: single_label, multi_label, whose rows join "
        "their labels by |, or regression.",
        "single_label",
    )
    labels: str | None = option(
        "Labels of your own table in the order of their ids, separated by commas; "
        "by default the labels of the training table, sorted.",
        None,
    )
    do_predict: bool = altered(
        TaskOptions,
        "do_predict",
        help="Predict the test set, or the raw text of --input_text or --input_file.",
    )
    input_text: str | None = option("Text to predict.", None, may_change=True)
    input_text_pair: str | None = option(
        "Second text of --input_text, for tasks on pairs.", None, may_change=True
    )
    input_file: str | None = option(
        "File of texts to predict, one per line; a tab separates the two texts of a "
        "pair.",
        None,
        may_change=True,
    )
    class_weight: str | None = option(
        "Weights of the losses in training. balanced: all labels together weigh the "
        "same, however many rows each has (one label a row).",
        None,
        (BALANCED,),
    )
    calibrate: bool = option(
        "After training, choose on dev what makes probabilities honest: a temperature, "
        "which goes into the head's weights, and for several labels each one's "
        "threshold of the highest F1.",
        False,
        may_change=True,
    )
    few_shot: bool = option(
        "Learn from few labels: bring texts of one label together and those of others "
        "apart, 40 pairs for a text, and then fit a linear head. An interrupted run "
        "begins again.",
        False,
    )

    @property
    def asks_raw_text(self):
        """True if --do_predict is for raw text, not for the test table."""
        return self.input_text is not None or bool(self.input_file)

    def completed(self):
        if not self.data_file:
            return self
        return dataclasses.replace(self, task_name=CUSTOM)

    @property
    def command(self):
        from albert_tf.tasks.classification import run

        return run


def main(argv=None):
    """Fine-tunes, evaluates, predicts and exports as the flags say."""
    run(ClassifierOptions, obey, ignored=_IGNORED, argv=argv)
