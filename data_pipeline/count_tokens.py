"""Counts how often each token of a vocabulary occurs in a text.

  python -m data_pipeline.count_tokens --input_file='corpus/*.txt' \\
      --spm_model_file=vocab/my_corpus.model --output_file=vocab/my_corpus.counts

`create_pretraining_data --mask_smoothing` reads the counts; docs/data.md says more. A
sample of some million tokens is enough for them.
"""

import collections
import dataclasses

import numpy as np
from absl import logging

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from data_pipeline.options import required_tokenizer
from data_pipeline.text import corpus
from data_pipeline.text import formats
from data_pipeline.text import quality
from data_pipeline.text import token_counts


@dataclasses.dataclass(frozen=True)
class Options:
    input_file: str = option(
        "Text files to read: names, globs and folders, separated by commas."
    )
    output_file: str = option("File to write the counts to.")
    spm_model_file: str | None = option(
        "SentencePiece model (.model); it wins over --vocab_file.", None
    )
    vocab_file: str | None = option(
        "WordPiece vocabulary (vocab.txt), where there is no --spm_model_file.", None
    )
    do_lower_case: bool = option(
        "Lower the case of letters, for an uncased vocabulary.", True
    )
    input_format: str = option(formats.HELP, "auto", formats.NAMES)
    text_field: str = option(formats.TEXT_FIELD_HELP, "text")


def count_tokens(options):
    """Writes the counts that `options` describe.

    Returns:
        int64 `[vocab_size]`.

    Raises:
        UserError: no text, no vocabulary, or one that does not fit the text.
    """
    tokenizer = required_tokenizer(
        options.spm_model_file, options.vocab_file, options.do_lower_case
    )
    files = corpus.find_files(options.input_file, options.input_format)
    reader = corpus.Reader(files, options.input_format, options.text_field)
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
    quality.refuse_encoding(
        found, options.input_file, quality.MAX_REPLACED, "too many to count"
    )
    quality.warn_of_encoding(found)
    if not counts.any():
        raise UserError(f"--input_file={options.input_file} holds no text.")
    token_counts.write(options.output_file, tokenizer, counts)
    logging.info(
        "%s: %d tokens, %d of %d pieces occur",
        options.output_file,
        counts.sum(),
        np.count_nonzero(counts),
        len(counts),
    )
    return counts


def main(argv=None):
    """The command line."""
    command_line.run(Options, count_tokens, argv=argv)


if __name__ == "__main__":
    main()
