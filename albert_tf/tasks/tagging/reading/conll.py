"""Columns as the shared tasks of CoNLL have them: a word a line, blank lines between.

    EU      NNP  B-NP  B-ORG
    rejects VBZ  B-VP  O

A tab separates the columns of a line that has one, otherwise white space does. Lines
whose word is -DOCSTART- separate documents.
"""

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.tasks.tagging.reading.sentences import sentence_of_words
from albert_tf.tasks.tagging.schemes import split_tag

SUFFIXES = (".conll", ".txt", ".tsv", ".iob", ".bio", ".bioes")
_DOCUMENT = "-DOCSTART-"


def read_lines(path):
    """The lines of a file, without their ends.

    Raises:
        UserError: it cannot be read, or is not UTF-8.
    """
    try:
        text = storage.read_bytes(path).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error.reason}.") from error
    # Other line ends of Unicode are part of a word.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def columns_of(line):
    """The columns of a line, a list of str."""
    return line.split("\t") if "\t" in line else line.split()


def is_labelled(lines, tag_column):
    """Whether the first word has a tag."""
    for _, rows in _groups(lines):
        columns = columns_of(rows[0])
        try:
            tag = columns[tag_column]
            split_tag(tag)
        except (IndexError, ValueError):
            return False
        return len(columns) > 1
    return False


def read_conll(path, lines, word_column, tag_column, with_tags):
    """Yields (where, (`Sentence`, its tags) or ValueError, its lines) of a file.

    Args:
        path: for messages.
        lines: what `read_lines` returned.
        word_column, tag_column: from 0; -1 is the last one.
        with_tags: whether there are tags.
    """
    width = None
    for first, rows in _groups(lines):
        where = f"{path}, line {first + 1}"
        places = range(first, first + len(rows))
        words, tags = [], [] if with_tags else None
        sentence = None
        for place, row in zip(places, rows, strict=True):
            columns = columns_of(row)
            width = width or len(columns)
            try:
                if len(columns) != width:
                    raise ValueError(
                        f"the line has {len(columns)} column(s), but the first "
                        f"line has {width}"
                    )
                words.append(_column(columns, word_column))
                if with_tags:
                    tags.append(_column(columns, tag_column))
                    split_tag(tags[-1])
            except ValueError as error:
                where, sentence = f"{path}, line {place + 1}", error
                break
        if sentence is None:
            try:
                sentence = sentence_of_words(where, words, tags, tuple(places)), tags
            except ValueError as error:
                sentence = error
        yield where, sentence, places


def _column(columns, place):
    if not -len(columns) <= place < len(columns):
        raise ValueError(
            f"the line has no column {place}, but {len(columns)} column(s)"
        )
    return columns[place]


def _groups(lines):
    """Yields the first line's place and the lines of each sentence."""
    rows = []
    for place, line in enumerate([*lines, ""]):
        columns = columns_of(line) if line.strip() else []
        if columns and columns[0] != _DOCUMENT:
            rows.append(line)
        elif rows:
            yield place - len(rows), rows
            rows = []
