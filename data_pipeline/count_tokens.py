"""Counts how often each token of a vocabulary occurs in a text.

  albert-tf count-tokens --input_file='corpus/*.txt' \\
      --spm_model_file=vocab/my_corpus.model --output_file=vocab/my_corpus.counts

`create_pretraining_data --mask_smoothing` reads the counts; docs/data.md says more. A
sample of some million tokens is enough for them.
"""

import collections
import dataclasses
from collections.abc import Sequence

import numpy as np
from absl import logging

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from data_pipeline.options import VocabularyFlags
from data_pipeline.sequences.masking_options import write_token_counts
from data_pipeline.text import quality
from data_pipeline.text.corpus import CorpusFlags


@dataclasses.dataclass(frozen=True, kw_only=True)
class CountTokensOptions(CorpusFlags, VocabularyFlags):
    """The flags of `albert-tf count-tokens`."""

    output_file: str = option("File to write the counts to.")


def count_tokens(options: CountTokensOptions) -> np.ndarray:
    """Writes the counts that `options` describe.

    Returns:
        int64 `[vocab_size]`.

    Raises:
        UserError: no text, no vocabulary, or one that does not fit the text.
    """
    tokenizer = options.tokenizer
    files = options.files()
    reader = options.reader(files)
    counts = np.zeros(tokenizer.vocab_size, np.int64)
    found = collections.Counter()
    size = sum(file.size for file in files)
    with Progress(size, "bytes", "counting tokens") as progress:
        for document in reader.documents(0, 1):
            quality.count_text(document.segments, found)
            ids, _ = tokenizer.encode_flat(document.segments)
            counts += np.bincount(ids, minlength=len(counts))
            progress.update(reader.bytes_read)
    found.update(reader.counts)
    quality.check_encoding(found, options.input_file, "count")
    if not counts.any():
        raise UserError(f"--input_file={options.input_file} holds no text.")
    write_token_counts(options.output_file, tokenizer, counts)
    logging.info(
        "%s: %d tokens, %d of %d pieces occur",
        options.output_file,
        counts.sum(),
        np.count_nonzero(counts),
        len(counts),
    )
    return counts


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command."""
    command_line.run(CountTokensOptions, count_tokens, argv=argv)


if __name__ == "__main__":
    main()
