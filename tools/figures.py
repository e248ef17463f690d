"""Writes the tables of figures in docs/ from the files of benchmarks in docs/figures/.

  python -m tools.figures

A page has the comment `<!-- figures: NAME -->` where the table of
docs/figures/NAME.json belongs, and ends it with `<!-- end of figures -->`. A benchmark
writes the file with --figures_file. Below the table stand the processor, the date and
the file's conditions.
"""

import dataclasses
import pathlib
import re

from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically
from benchmarks.measuring.figures import table

_PART = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.S)
_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


@dataclasses.dataclass(frozen=True)
class FiguresOptions:
    """The flags of `python -m tools.figures`."""

    docs: str = option("Folder of the pages, with the folder figures in it.", "docs")


def update(options):
    """Writes the parts of all pages.

    Raises:
        UserError: there is no such folder, a page names figures that are not there, or
            no page shows a file.
    """
    docs = pathlib.Path(options.docs)
    if not docs.is_dir():
        raise UserError(f"There is no folder {docs}; name that of the pages in --docs.")
    shown = set()

    def part(match):
        begin, name, end = match.groups()
        shown.add(name)
        return begin + _table(docs / "figures" / f"{name}.json") + end

    for page in sorted(docs.glob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = _PART.sub(part, old)
        if new != old:
            write_atomically(page, new)
    for path in sorted(docs.glob("figures/*.json")):
        if path.stem not in shown:
            raise UserError(f"No page of {docs} shows {path}; name it there.")


def _table(path):
    """Returns the table of a file and the line below it."""
    figures = read_json_object(path)
    return f"\n{table(figures)}\n\n"


def write_part(document, text):
    """Puts `text` in the place of the text between the two comments."""
    page = pathlib.Path(document).read_text(encoding="utf-8")
    before, old = page.split(_BEGIN)
    after = old.split(_END)[1]
    write_atomically(document, f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    run(FiguresOptions, update)
