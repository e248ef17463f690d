"""The part of a page that a tool writes, between two comments."""

import pathlib

from albert_tf.io.files import write_atomically

_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


def write_part(document, text):
    """Puts `text` in the place of the text between the two comments."""
    page = pathlib.Path(document).read_text(encoding="utf-8")
    before, old = page.split(_BEGIN)
    after = old.split(_END)[1]
    write_atomically(document, f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")
