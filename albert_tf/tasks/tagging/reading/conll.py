"""Columns as the shared tasks of CoNLL have them: a word a line, blank lines between.

    EU      NNP  B-NP  B-ORG
    rejects VBZ  B-VP  O

A tab separates the columns of a line that has one, otherwise white space does. Lines
whose word is -DOCSTART- separate documents.
"""

from albert_tf.tasks.tagging.reading.sentences import sentence_of_words
from albert_tf.tasks.tagging.schemes import cleaned_tag

SUFFIXES = (".conll", ".txt", ".tsv", ".iob", ".bio", ".bioes")
_DOCUMENT = "-DOCSTART-"


def columns_of(line):
    """Lists the columns of a line without the white space around them, str."""
    line = line.rstrip()
    if "\t" not in line:
        return line.split()
    return [column.strip() for column in line.split("\t")]


def is_labelled(lines, tag_column, scheme):
    """Returns whether the first word has a tag of the scheme (None: of any)."""
    for _, rows in _groups(lines):
        columns = columns_of(rows[0])
        try:
            cleaned_tag(columns[tag_column], scheme)
        except (IndexError, ValueError):
            return False
        return len(columns) > 1
    return False


def read_conll(path, lines, reading, with_tags):
    """Yields (where, (`Sentence`, its tags) or ValueError, its lines) of a file.

    Args:
        path: for messages.
        lines: the lines of the file, without their ends.
        reading: a `Reading`.
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
                words.append(_column(columns, reading.word_column))
                if with_tags:
                    tag = _column(columns, reading.tag_column)
                    tags.append(cleaned_tag(tag, reading.scheme))
            except ValueError as error:
                where, sentence = f"{path}, line {place + 1}", error
                break
        if sentence is None:
            try:
                sentence = sentence_of_words(
                    where, words, tags, tuple(places), reading.scheme
                )
                sentence = sentence, tags
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
