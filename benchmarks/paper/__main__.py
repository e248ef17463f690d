"""The comparisons of the ALBERT paper, RoBERTa and XLNet, as far as two cores go.

  python -m benchmarks.paper --table=4 --input_file=wikipedia.txt --output_dir=paper

The command trains each row with `--num_runs` seeds on a corpus, `--workers` runs at a
time: a few layers of width 128, mostly on sequences of 64 tokens. It prints and writes
`results.md`, with mean and spread of the seeds' results on held-out data. Re-running
keeps finished runs and resumes interrupted ones; other flags or another text need
another --output_dir.
"""

import dataclasses
import pathlib

from albert_tf.cli import command_line
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from benchmarks.paper.rows import RunFlags
from benchmarks.paper.tables import TABLES

_LINES = 2000  # of the text, by which tokens and bytes are compared


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(RunFlags):
    table: str = option("Comparison to make.", choices=tuple(TABLES))
    output_dir: str = option("Folder to write data, runs and tables to.")
    input_file: str = option("Text to learn from: one paragraph a line.")
    vocab_size: int = option(
        "Number of pieces in the vocabulary of that text.", 4000, minimum=6
    )


def compare(options):
    """Makes a comparison; returns its Markdown."""
    # Imported here, so that --help does not wait for TensorFlow.
    from benchmarks.paper import frequencies
    from benchmarks.paper import report
    from benchmarks.paper import tiny

    table = TABLES[options.table]
    folder = pathlib.Path(options.output_dir) / f"table_{options.table}"
    corpus = tiny.Corpus(
        options.input_file, options.vocab_size, pathlib.Path(options.output_dir)
    )
    corpus.check()
    found = tiny.run(table, corpus, folder, group_of(RunFlags, options))
    data = corpus.data(tiny.data_flags(table, table.rows[0]))
    base_line = frequencies.unigram_loss(
        table.objective, data, corpus.vocabulary, table.lengths
    )
    bits = frequencies.bits_a_byte(corpus.lines(_LINES), corpus.vocabulary)
    length = f"{options.num_train_steps} steps"
    if options.train_minutes:
        length = f"{options.train_minutes:g} minutes"
    details = (
        f"{options.input_file}, {options.vocab_size} pieces, {length}, "
        f"{options.num_runs} seeds"
    )
    if options.block != "official":
        details += f", {options.block} block"
    if table.conclusion:
        details += f"; the paper: {table.conclusion}"
    text = report.write(table, found, base_line, bits, folder, f"{details}.")
    print(text, end="")
    return text


if __name__ == "__main__":
    command_line.run(Options, compare)
