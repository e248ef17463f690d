"""Finds hard negatives for pairs of texts, to train vectors on.

  albert-tf mine --model_dir=vectors --pairs=pairs.tsv --output_file=data/train.jsonl
  albert-tf similarity --data_dir=data --init_checkpoint=albert_base …

The negatives of a pair are the texts nearest to its anchor, among the positives of all
pairs and the lines of --corpus_file, that are farther than its positive by --margin of
the cosine. Each row of the output has one: anchor, positive, negative.
docs/vectors.md says more.
"""

import dataclasses
import functools

from absl import logging

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class MineOptions(ReadingFlags):
    """The flags of `albert-tf mine`."""

    model_dir: str = option(
        "Model of vectors: a model directory, a Hugging Face directory, or "
        "hf://owner/name."
    )
    pairs: str = option("Table of anchors and positives, such as pairs.tsv.")
    output_file: str = option("File for anchors, positives and negatives: .jsonl.")
    corpus_file: str | None = option(
        "File of further texts to choose from, one per line.", None
    )
    text_column: str | None = option(
        "Column of the anchor; by default anchor, sentence1 or text.", None
    )
    text_pair_column: str | None = option(
        "Column of the positive; by default positive, sentence2 or text_pair.", None
    )
    negatives: int = option("Largest number of negatives of a pair.", 1, minimum=1)
    ranks: int = option("Number of nearest texts to choose from.", 100, minimum=1)
    margin: float = option(
        "Share of the positive's cosine by which a negative is farther.",
        0.05,
        minimum=0,
        maximum=1,
    )
    batch_size: int = option("Number of texts to compute at a time.", 32, minimum=1)


@obeys_reading_flags
def mine(options):
    """Writes the triplets.

    Raises:
        UserError: files are unreadable, or no pair has a negative.
    """
    if not options.output_file.endswith(".jsonl"):
        raise UserError(
            f"--output_file={options.output_file}: expected a name that ends in .jsonl."
        )
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.io.files import json_text
    from albert_tf.io.files import write_atomically
    from albert_tf.io.text_files import read_lines
    from albert_tf.tasks.similarity.negatives import hard_negatives
    from albert_tf.tasks.similarity.reading import read_positives
    from albert_tf.tasks.similarity.search import embedded
    from albert_tf.text_embedder import TextEmbedder

    columns = options.text_column, options.text_pair_column
    anchors, positives = read_positives(options.pairs, *columns)
    further = read_lines(options.corpus_file) if options.corpus_file else []
    texts = [*dict.fromkeys([*positives, *filter(str.strip, further)])]
    limits = options.negatives, options.ranks, options.margin
    encode = functools.partial(
        embedded, TextEmbedder(options.model_dir), batch_size=options.batch_size
    )
    found = hard_negatives(anchors, positives, texts, encode, *limits)
    lines = [
        json_text({"anchor": a, "positive": p, "negative": texts[place]}, indent=None)
        for a, p, places in zip(anchors, positives, found, strict=True)
        for place in places
    ]
    without = sum(not places for places in found)
    if not lines:
        raise UserError(
            f"No pair of {options.pairs} has a negative among {len(texts)} texts; name "
            "more with --corpus_file, raise --ranks, or lower --margin."
        )
    write_atomically(options.output_file, "".join(lines))
    logging.info(
        "%d negatives; %d pairs have none and are left out.", len(lines), without
    )


def main(argv=None):
    """Runs the command."""
    run(MineOptions, mine, argv=argv)
