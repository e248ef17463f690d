"""Turns texts into vectors.

  albert-tf embed --model_dir=out --input_file=texts.txt \\
      --output_file=vectors.npy

This writes a vector for each text, as float32 rows (.npy) or JSON lines (.jsonl). With
--similarity_file=STS-B/dev.tsv the command prints how well the cosine of two vectors
ranks pairs of sentences. docs/inference.md says more.
"""

import dataclasses
import io
import math

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.models.flags import POOLINGS

_BINARY, _LINES = ".npy", ".jsonl"


@dataclasses.dataclass(frozen=True)
class EmbedOptions(ReadingFlags):
    """The flags of `albert-tf embed`."""

    model_dir: str = option(
        "Model to apply: a model directory, a Hugging Face directory, or "
        "hf://owner/name."
    )
    input_file: str | None = option(
        "File of texts: one per line, with a tab between the two texts of a pair; or "
        "a .tsv, .csv or .jsonl table with the column text and, for pairs, text_pair.",
        None,
    )
    output_file: str | None = option(
        "File for the vectors, in the order of the texts: .npy or .jsonl.", None
    )
    similarity_file: str | None = option(
        "Table with the columns sentence1, sentence2 and score, such as STS-B's "
        "dev.tsv; the command prints the Spearman and Pearson correlations between "
        "the cosines and the scores.",
        None,
    )
    pooling: str | None = option(
        "Pooling of tokens into one vector: mean of all, cls (the first token's), or "
        "pooler (the pooled output of the last layer). By default that of a model of "
        "vectors, else mean.",
        None,
        choices=POOLINGS,
    )
    layer: int | None = option(
        "Layer to read: 1 is the first, -1 the last, -2 the one before it. By default "
        "that of a model of vectors, else the last.",
        None,
    )
    normalize: bool | None = option(
        "Make each vector's length 1; by default as a model of vectors does, else not.",
        None,
    )
    max_seq_length: int | None = option(
        "Largest length of a text, in tokens; longer texts lose their end. By default "
        "that of a model of vectors, else the number of positions.",
        None,
        minimum=5,
    )
    prompt_name: str | None = option(
        "Name of the model's prompt to put before each text, or before the first text "
        "of a pair; by default its default prompt.",
        None,
    )
    prompt: str | None = option("Text to put there instead.", None)
    batch_size: int = option("Number of texts to compute at a time.", 32, minimum=1)


@obeys_reading_flags
def embed(options):
    """Writes vectors, or prints scores.

    Raises:
        UserError: flags contradict each other, or files are unreadable.
    """
    _check(options)
    # Imported here, so that --help does not wait for TensorFlow.
    import numpy as np

    from albert_tf.inference.loading import read_texts
    from albert_tf.tasks.similarity.search import embedded
    from albert_tf.tasks.tables import Columns
    from albert_tf.tasks.tables import read_table
    from albert_tf.text_embedder import TextEmbedder

    if options.similarity_file:
        columns = Columns("sentence1", "sentence2", "score")
        table = read_table(options.similarity_file, columns, _score)
    else:
        texts, pairs = read_texts(options.input_file)
    embedder = TextEmbedder(
        options.model_dir,
        options.pooling,
        options.layer,
        options.normalize,
        options.max_seq_length,
    )
    prompts = {"prompt_name": options.prompt_name, "prompt": options.prompt}
    if options.similarity_file:
        scores = embedder.evaluate(
            table.texts, table.text_pairs, table.labels, options.batch_size, **prompts
        )
        for name, value in scores.items():
            print(f"{name} = {value}")
        return
    prompts["batch_size"] = options.batch_size
    vectors = np.concatenate([*embedded(embedder, texts, pairs, **prompts)])
    if options.output_file.endswith(_LINES):
        content = "".join(json_text(row, indent=None) for row in vectors.tolist())
    else:
        buffer = io.BytesIO()
        np.save(buffer, vectors)
        content = buffer.getvalue()
    write_atomically(options.output_file, content)


def _score(value):
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"expected a number, not {value!r}")
    return score


def _check(options):
    if bool(options.input_file) == bool(options.similarity_file):
        raise UserError("Give either --input_file or --similarity_file.")
    if bool(options.input_file) != bool(options.output_file):
        raise UserError("Give --input_file and --output_file together.")
    if options.prompt_name is not None and options.prompt is not None:
        raise UserError("Give either --prompt_name or --prompt.")
    if options.output_file and not options.output_file.endswith((_BINARY, _LINES)):
        raise UserError(
            f"--output_file={options.output_file}: expected a name that ends in "
            f"{_BINARY} or {_LINES}."
        )


def main(argv=None):
    """Runs the command."""
    run(EmbedOptions, embed, argv=argv)
