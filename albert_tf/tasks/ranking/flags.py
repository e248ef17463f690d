"""Trains a reranker: a model that reads a query and a text together.

  albert-tf rank --data_dir=lists --init_checkpoint=albert_base \\
      --output_dir=out --do_train --do_eval --num_train_epochs=1

--data_dir holds train.*, dev.* and test.* (.tsv, .csv, .jsonl, .parquet), a row for
each text of a query, with the columns query, text and label: a grade from 0, higher for
a better text. Without grades, texts have the grade 1, and those of a column negative,
which albert-tf mine writes, the grade 0.

The command writes to --output_dir: model/ (the best checkpoint by NDCG@10 on dev),
checkpoints/, eval_results.txt, and predictions.jsonl, the texts of each query of the
test set, best first. docs/vectors.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.commands.flags import obey
from albert_tf.tasks.ranking import LOSSES


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankingOptions(TaskOptions):
    """The flags of `albert-tf rank`."""

    do_predict: bool = altered(
        TaskOptions, "do_predict", help="Rank the texts of the test set."
    )
    task_name: str = option(
        "Layout of --data_dir: tables of your own.", "ranking", ("ranking",)
    )
    data_dir: str | None = option(
        "Folder of train.*, dev.* and test.*, or such a hf://owner/name.",
        None,
        names="tables",
        may_change=True,  # its digest is a fact
    )
    loss: str = option(
        "Loss. lambda: the order, weighted by its effect on NDCG (LambdaRank); binary: "
        "the relevance of each text alone; margin: each pair of grades.",
        LOSSES[0],
        LOSSES,
    )
    query_column: str | None = option(
        "Column of the query; by default query, anchor or sentence1.", None
    )
    text_column: str | None = option(
        "Column of the text; by default text, positive or sentence2.", None
    )
    negative_column: str = option(
        "Column of texts that do not answer, where the table has it.", "negative"
    )
    label_column: str = option("Column of the grade, where the table has it.", "label")
    list_size: int = option(
        "Largest number of texts of a query in a training row; longer lists are "
        "divided, each part with texts of two grades or more.",
        8,
        minimum=2,
    )
    eval_batch_size: int = altered(
        TaskOptions,
        "eval_batch_size",
        help="Number of queries in an evaluation batch, each with all its texts.",
    )
    predict_batch_size: int = altered(
        TaskOptions,
        "predict_batch_size",
        help="Number of queries in a prediction batch, each with all its texts.",
    )
    max_seq_length: int = altered(TaskOptions, "max_seq_length", default=256)
    learning_rate: float = altered(TaskOptions, "learning_rate", default=2e-5)

    @property
    def command(self):
        from albert_tf.tasks.ranking import run

        return run


def main(argv=None):
    """Trains, scores, ranks and exports as the flags say."""
    run(RankingOptions, obey, argv=argv)
