"""Writes docs/errors.md, the page of wrong inputs and what each command says.

  python -m tools.errors_page

runs every case of tools/errors/cases.py and takes a minute. A test fails where the page
is older than the messages.
"""

import dataclasses
import itertools
import pathlib
import re
import tempfile

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.io.files import write_atomically

_BEGINNING = """# Errors

What the commands say about wrong input. Each command line below ends with status 1 and
prints one line, `error:` and the sentence shown here, on standard error; nothing that
was already written is lost. `python -m tools.errors_page` runs the command lines and
writes this page; edit `tools/errors/cases.json`, not the page.
"""


@dataclasses.dataclass(frozen=True)
class ErrorsPageOptions:
    """The flags of `python -m tools.errors_page`."""

    page: str = option("Page to write, a Markdown file.", "docs/errors.md")


def write_page(options):
    """Runs the cases and writes the page."""
    # Imported here, so that --help does not wait for TensorFlow.
    from tools.errors.cases import read_cases
    from tools.errors.collecting import collect

    with tempfile.TemporaryDirectory() as folder:
        messages = collect(pathlib.Path(folder).resolve(), read_cases())
    write_atomically(pathlib.Path(options.page), page(messages))


def page(messages):
    """The page, from a dict of `Case` to what the command said."""
    parts = [_BEGINNING]
    for program, cases in itertools.groupby(messages, lambda case: case.program):
        cases = list(cases)
        parts.append(f"\n## {program}\n")
        if cases[0].shared:
            parts.append(f"\nShared flags: `{cases[0].shared}`; those of a case win.\n")
        for case in cases:
            flags = re.sub(r"~(\w+)", r"without --\1", case.flags)
            parts.append(
                f"\n{case.mistake}: `{flags}`\n\n> {_escaped(messages[case])}\n"
            )
    return "".join(parts)


def _escaped(text):
    """A message as Markdown shows it: nothing in it is a mark."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", text)


def main(argv=None):
    """The command line."""
    run(ErrorsPageOptions, write_page, argv=argv)


if __name__ == "__main__":
    main()
