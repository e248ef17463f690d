"""JSON objects whose one long list is read an item at a time."""

import io
import json

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import unreadable
from albert_tf.io.text_files import checked_beginning

_CHARACTERS = 2**20
_SHOWN = 40
_WHITE_SPACE = " \t\n\r"  # RFC 8259, section 2; Python's isspace() knows more
_NUMBER_CUT = 3  # characters


def members(path, streamed):
    """Yields the members of the JSON object that a file holds.

    Args:
        path: a file in UTF-8.
        streamed: the name of the member that is read piece by piece.

    Yields:
        (name, value) of each member; for a list called `streamed`, (name, item) of
        each of its items.

    Raises:
        UserError: the file cannot be read, or holds something else.
    """
    try:
        with storage.read_locally(path) as local, open(local, "rb") as file:
            checked_beginning(path, file)
            text = io.TextIOWrapper(file, "utf-8-sig")
            yield from _members(_Reader(text), streamed)
    except OSError as error:
        raise unreadable(path, error) from error
    except UserError:
        raise
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error.reason}.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a JSON object: {error}.") from error


def _members(reader, streamed):
    reader.take("{")
    if not reader.took("}"):
        while True:
            name = reader.value()
            if not isinstance(name, str):
                raise ValueError(f"expected a member's name, not {name!r}")
            reader.take(":")
            if name == streamed and reader.took("["):
                for item in _items(reader):
                    yield name, item
            else:
                yield name, reader.value()
            if reader.took("}"):
                break
            reader.take(",")
    if reader.peek():
        raise ValueError(f"expected nothing after its end, not {reader.shown()}")


def _items(reader):
    if reader.took("]"):
        return
    while True:
        yield reader.value()
        if reader.took("]"):
            return
        reader.take(",")


class _Reader:
    """Decodes values from a file of which it holds a part."""

    def __init__(self, file):
        self._file = file
        self._decoder = json.JSONDecoder()
        self._text, self._at, self._ended = "", 0, False

    def peek(self):
        """The next character but white space, "" at the end."""
        while True:
            rest = self._text[self._at : self._at + 1]
            if rest and rest not in _WHITE_SPACE:
                return rest
            if rest:
                self._at += 1
            elif not self._read():
                return ""

    def took(self, character):
        """Whether `character` comes next; then it is behind us."""
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def take(self, character):
        if not self.took(character):
            raise ValueError(f"expected {character!r}, not {self.shown()}")

    def shown(self):
        return (
            repr(self._text[self._at : self._at + _SHOWN]) if self.peek() else "its end"
        )

    def value(self):
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._read():
                    continue
                near = self._text[max(error.pos - _SHOWN // 2, 0) :][:_SHOWN]
                raise ValueError(f"{error.msg} near {near!r}") from None
            # Of a number cut short, "1.5e+", only the beginning is a value.
            if len(self._text) - end < _NUMBER_CUT and self._read():
                continue
            self._at = end
            return value

    def _read(self):
        """Reads on, at least as much as there is: decoding anew stays cheap."""
        if self._ended:
            return False
        kept = self._text[self._at :]
        more = self._file.read(max(_CHARACTERS, len(kept)))
        self._ended = not more
        if more:
            self._text, self._at = kept + more, 0
        return bool(more)
