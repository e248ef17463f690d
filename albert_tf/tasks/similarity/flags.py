"""Trains vectors of texts that are close where texts mean the same.

  albert-tf similarity --data_dir=pairs --init_checkpoint=albert_base \\
      --output_dir=out --do_train --do_eval --num_train_epochs=1

--data_dir holds train.*, dev.* and test.* (.tsv, .csv, .jsonl, .parquet). --loss says
what a row is: a text and one that means the same, and perhaps a negative (info_nce);
two texts and a score (cosent, cosine); a text alone (simcse). Held-out rows are pairs
with scores, or, for info_nce, pairs. With --task_name=sts-b the folder STS-B in
--data_dir is read as GLUE publishes it.

The command writes to --output_dir: model/ (the best checkpoint on dev), checkpoints/,
eval_results.txt, and test_results.tsv with the similarity of each pair.
docs/vectors.md says more.
"""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.models.flags import POOLINGS
from albert_tf.tasks.commands.flags import TaskOptions
from albert_tf.tasks.commands.flags import obey
from albert_tf.tasks.long_texts import LongTexts
from albert_tf.tasks.similarity import LOSSES
from albert_tf.tasks.similarity import OF_PAIRS
from albert_tf.tasks.similarity import TEACHER_DISTANCES


@dataclasses.dataclass(frozen=True, kw_only=True)
class SimilarityOptions(LongTexts, TaskOptions):
    """The flags of `albert-tf similarity`."""

    do_predict: bool = altered(
        TaskOptions, "do_predict", help="Write the similarities of the test set."
    )
    task_name: str = option(
        "Layout of --data_dir: tables of your own (custom), or GLUE's STS-B.",
        "custom",
        ("custom", "sts-b"),
    )
    data_dir: str | None = option(
        "Folder of train.*, dev.* and test.*, or such a hf://owner/name.",
        None,
        names="tables",
        may_change=True,  # its digest is a fact
    )
    loss: str = option(
        "Loss. info_nce: the second text among those of the whole batch; cosent: the "
        "order of scores; cosine: the scores; simcse: a text under two dropouts.",
        OF_PAIRS,
        LOSSES,
    )
    temperature: float = option(
        "Divisor of cosines, except with --loss=cosine.", 0.05, minimum=1e-6
    )
    symmetric: bool = option(
        "With --loss=info_nce, the second texts are to find the first ones, too.", False
    )
    dimensions: str | None = option(
        "Sizes of beginnings of a vector that are to work alone, such as 64,128,384 "
        "(Matryoshka); by default the whole vector.",
        None,
    )
    pooling: str | None = option(
        "Pooling of tokens into one vector: mean of all, cls, or pooler; by default "
        "that of --init_checkpoint, else mean.",
        None,
        POOLINGS,
    )
    normalize: bool | None = option(
        "Make each vector's length 1; by default as --init_checkpoint, else true.", None
    )
    prompt_name: str | None = option(
        "Name of the prompt of --init_checkpoint to put before each text; or two with "
        "a comma, of the first texts and of the others. By default its default prompt.",
        None,
    )
    prompt: str | None = option(
        "Text to put before each text, which becomes the model's default prompt.", None
    )
    text_column: str | None = option(
        "Column of the first text; by default anchor, sentence1 or text.", None
    )
    text_pair_column: str | None = option(
        "Column of the second text; by default positive, sentence2 or text_pair.", None
    )
    negative_column: str = option(
        "Column of texts that do not mean the same, where the training table has it.",
        "negative",
    )
    label_column: str = option("Column of the score.", "score")
    max_score: float | None = option(
        "Score of texts that mean the same; 0 is the least. By default 1, of STS-B 5.",
        None,
        minimum=0,
    )
    teacher_distance: str = option(
        "Distance to the vectors of --teacher: one minus the cosine, or the squared "
        "distance, by which lengths are learned, too.",
        TEACHER_DISTANCES[0],
        TEACHER_DISTANCES,
    )
    max_seq_length: int = altered(TaskOptions, "max_seq_length", default=128)
    learning_rate: float = altered(TaskOptions, "learning_rate", default=2e-5)

    @property
    def command(self):
        from albert_tf.tasks.similarity import run

        return run


def main(argv=None):
    """Trains, scores, applies and exports vectors as the flags say."""
    run(SimilarityOptions, obey, argv=argv)
