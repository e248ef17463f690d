"""The comparisons of the ALBERT paper, RoBERTa and XLNet, as far as two cores go.

  python -m benchmarks.paper --table=4 --scale=base --output_dir=paper
  python -m benchmarks.paper --table=4 --input_file=wikipedia.txt --output_dir=paper

`base` writes the paper's configurations, and prints their costs and the commands that
run them. `tiny` trains each row with `--num_runs` seeds on a corpus, `--workers` runs
at a time: a few layers of width 128, mostly on sequences of 64 tokens. It prints and
writes `results.md`, with mean and spread of the seeds' results on held-out data, and
`results.png`. Re-running keeps finished runs and resumes interrupted ones; other flags
or another text need another --output_dir.
"""

import dataclasses
import pathlib

from albert_tf.cli import command_line
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from benchmarks.paper import base
from benchmarks.paper.rows import RunFlags
from benchmarks.paper.tables import TABLES

_LINES = 2000  # of the text, by which tokens and bytes are compared


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(RunFlags):
    table: str = option("Comparison to make.", choices=tuple(TABLES))
    output_dir: str = option("Folder to write data, runs and tables to.")
    scale: str = option(
        "Size of the models. base: the paper's configurations, on paper; tiny: runs on "
        "two cores.",
        "tiny",
        ("base", "tiny"),
    )
    input_file: str | None = option(
        "Text to learn from, at the tiny scale: one paragraph a line.", None
    )
    vocab_size: int = option(
        "Number of pieces in the vocabulary of that text.", 4000, minimum=6
    )


def compare(options):
    """Makes a comparison; returns its Markdown."""
    table = TABLES[options.table]
    folder = pathlib.Path(options.output_dir) / f"table_{options.table}"
    if options.scale == "base":
        if not all(row.base for row in table.rows):
            raise UserError(
                f"--table={options.table} has no configurations of a paper; pass "
                "--scale=tiny."
            )
        text = base.write(table, folder / "base")
    else:
        text = _run(table, folder, options)
    print(text, end="")
    return text


def _run(table, folder, options):
    # Imported here, so that --help does not wait for TensorFlow.
    from benchmarks.paper import frequencies
    from benchmarks.paper import report
    from benchmarks.paper import tiny

    if options.input_file is None:
        raise UserError("--scale=tiny needs --input_file, a text to learn from.")
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
    if table.draws_layers:
        tiny.draw_layers(table, corpus, folder)
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
    return report.write(table, found, base_line, bits, folder, f"{details}.")


if __name__ == "__main__":
    command_line.run(Options, compare)
