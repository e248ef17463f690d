"""Sentences of tagged words, and their files.

Files in the column format of CoNLL's shared tasks have one word per line, and blank
lines between sentences:

    EU      NNP  B-NP  B-ORG
    rejects VBZ  B-VP  O

Tabs separate the columns of a line with tabs, otherwise white space does. Lines with
the word -DOCSTART- separate documents.

JSONL and Parquet have one object per row, either words with tags or a text with spans:

{"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}
{"text": "EU rejects", "spans": [{"start": 0, "end": 2, "label": "ORG"}]}

A file has one of the two forms. A file to predict may lack `tags` and `spans`.
Predictions keep other members unchanged. doccano's `label`, [start, end, type], and
Label Studio's exports are read as spans, too.

CoNLL-U (.conllu) also has comments, and lines for multiword tokens and empty nodes,
which are skipped; the word is the second column and the tag the fourth, UPOS, unless
flags select others. Predictions keep all lines.
"""

import bisect
import dataclasses
import re
import typing

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import holds_objects
from albert_tf.io.table_rows import read_rows
from albert_tf.io.table_rows import suffix_of
from albert_tf.io.text_files import read_lines
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.examples import good_ones
from albert_tf.tasks.examples import or_error
from albert_tf.tasks.tables import check_characters
from albert_tf.tasks.tables import nfc
from albert_tf.tasks.tables import trimmed
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.schemes import cleaned_tag
from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import is_punctuation

_CONLLU = ".conllu"
SUFFIXES = (".conll", ".txt", ".tsv", ".iob", ".bio", ".bioes", _CONLLU, *OBJECTS)
_DOCUMENT = "-DOCSTART-"
_NO_WORD = re.compile(r"#|\d+[-.]\d+\t")  # of CoNLL-U
_UNSPECIFIED = "_"
_MEMBERS = {  # that may hold the entities, by form
    "tokens": ("tags", "ner_tags"),
    "spans": ("spans", "label", "labels", "entities"),
}
_RUN = re.compile(rf"{CHINESE}|[^\s{CHINESE[1:-1]}]+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TagFileFlags:
    """Files of tags."""

    scheme: str | None = option(
        "Scheme of the tags; by default the one that each file's tags fit. plain: any "
        "tags, such as parts of speech, each for its word alone. A model of plain tags "
        "needs no flag to be applied.",
        None,
        (schemes.IOB1, schemes.IOB2, schemes.BIOES, schemes.PLAIN),
    )
    word_column: int = option(
        "Column of the word in CoNLL's files, from 0; -1 is the last one.", 0
    )
    tag_column: int = option(
        "Column of the tag in CoNLL's files, from 0; -1 is the last one.", -1
    )


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A text, its words and its entities.

    Attributes:
        id: the sentence's place in its file.
        text: the text; pre-split words are joined by spaces.
        bounds: pairs of each word's bounds in characters, end exclusive.
        entities: list of (type, start, end) in characters, end exclusive, in order;
            None if they are unknown.
        source: the sentence's part of the file.
    """

    id: str
    text: str
    bounds: tuple
    entities: tuple | None = None
    source: typing.Any = None

    @property
    def words(self):
        """The words, a list of str."""
        return [self.text[first:end] for first, end in self.bounds]

    def in_words(self, entities):
        """Converts entities in characters: (type, first word, word after the last).

        An entity that begins or ends within a word is extended to the whole word.
        """
        found = []
        for label, start, end in entities:
            first = bisect.bisect_right(self.bounds, start, key=lambda word: word[1])
            last = bisect.bisect_left(self.bounds, end, key=lambda word: word[0])
            found.append((label, first, last))
        return found

    def in_characters(self, entities):
        """Converts entities in words to characters, the inverse of `in_words`."""
        return [
            (label, self.bounds[first][0], self.bounds[end - 1][1])
            for label, first, end in entities
        ]


@dataclasses.dataclass(frozen=True)
class TagFile(Examples):
    """Contents of a file with tags.

    Attributes:
        sentences: the `Sentence`s, a tuple.
        form: "conll", "tokens" or "spans".
        scheme: the scheme of the file's tags; None without tags.
        lines: for CoNLL, the file's lines without those of bad sentences; a sentence's
            `source` has the indices of its words' lines.
    """

    sentences: tuple
    form: str
    scheme: str | None = None
    lines: tuple = ()

    def __len__(self):
        return len(self.sentences)

    def types(self):
        """Lists the sorted types of the entities."""
        return sorted({entity[0] for s in self.sentences for entity in s.entities})

    @property
    def is_labelled(self):
        return self.sentences[0].entities is not None

    def inputs_digest(self):
        return digest_of((s.text, s.bounds) for s in self.sentences)

    def digest(self):
        return digest_of((s.text, s.bounds, s.entities) for s in self.sentences)


def read_tag_file(path, flags, role="dev", skip_bad_rows=False):
    """Reads a `TagFile`; its sentences have entities unless the file has no tags.

    Args:
        path: the file; its suffix, one of `SUFFIXES`, determines its form.
        flags: `TagFileFlags`.
        role: the file's role; a file to predict need not have tags or spans.
        skip_bad_rows: skip and count bad sentences.

    Raises:
        UserError: the file is unreadable or has no sentences, a sentence is bad, or
            tags fit no scheme.
    """
    form, lines, groups = "conll", (), ()
    if holds_objects(path):
        objects = (fields for _, fields in read_rows(path) if isinstance(fields, dict))
        first = next(objects, {})
        form = "spans" if "text" in first else "tokens"
        has_tags = role != "test" or any(name in first for name in _MEMBERS[form])
        kind = form, has_tags, flags.scheme
        found = (
            (where, or_error(_of_object, where, fields, *kind))
            for where, fields in read_rows(path)
        )
    else:
        if suffix_of(path) == _CONLLU:
            columns = {
                "word_column": flags.word_column or 1,
                "tag_column": 3 if flags.tag_column == -1 else flags.tag_column,
            }
            flags = dataclasses.replace(flags, **columns)
        lines = read_lines(path)
        groups = list(_groups(lines, suffix_of(path) == _CONLLU))
        has_tags = role != "test" or _has_tag(lines, groups, flags)
        found = _read_columns(path, lines, groups, flags, has_tags)
    good, skipped = good_ones(found, skip_bad_rows)
    if not good:
        raise UserError(f"{path} holds no sentence that can be used.")
    scheme = _scheme(path, good, flags) if has_tags and form != "spans" else None
    sentences = tuple(sentence for sentence, _ in good)
    if skipped and lines:
        sentences, lines = _without_bad(sentences, lines, groups)
    return TagFile(
        str(path), sentences, form, scheme, tuple(lines), role=role, num_skipped=skipped
    )


def _scheme(path, good, flags):
    if flags.scheme:
        return flags.scheme
    try:
        return schemes.find_scheme((sentence.id, tags) for sentence, tags in good)
    except ValueError as error:
        raise UserError(
            f"The tags of {path} fit no scheme: {error}; correct them, or name the "
            "scheme with --scheme and leave bad rows out with --skip_bad_rows."
        ) from error


def _without_bad(sentences, lines, groups):
    """Drops the lines of bad sentences, and renumbers the lines of words."""
    good = {place for sentence in sentences for place in sentence.source}
    bad = {place for places in groups for place in places} - good
    kept = [place for place in range(len(lines)) if place not in bad]
    places = {place: new for new, place in enumerate(kept)}
    moved = tuple(
        dataclasses.replace(s, source=tuple(places[place] for place in s.source))
        for s in sentences
    )
    return moved, [lines[place] for place in kept]


def columns_of(line):
    """Splits a line into its columns, without white space around them."""
    line = line.rstrip()
    if "\t" not in line:
        return line.split()
    return [column.strip() for column in line.split("\t")]


def _groups(lines, is_conllu):
    """Yields a list of the line indices of words for each sentence."""
    places = []
    for place, line in enumerate([*lines, ""]):
        if is_conllu and _NO_WORD.match(line):
            continue
        columns = columns_of(line) if line.strip() else []
        if columns and columns[0] != _DOCUMENT:
            places.append(place)
        elif places:
            yield places
            places = []


def _has_tag(lines, groups, flags):
    """Returns whether the first word has a tag of the scheme (None: any scheme)."""
    try:
        columns = columns_of(lines[groups[0][0]])
        tag = cleaned_tag(columns[flags.tag_column], flags.scheme)
    except (IndexError, ValueError):
        return False
    return len(columns) > 1 and tag != _UNSPECIFIED


def _read_columns(path, lines, groups, flags, has_tags):
    """Yields (where, (`Sentence`, tags) or ValueError) from a file with columns."""
    width = None
    for places in groups:
        words, tags = [], [] if has_tags else None
        try:
            for place in places:
                where = f"{path}, line {place + 1}"
                columns = columns_of(lines[place])
                width = width or len(columns)
                if len(columns) != width:
                    raise ValueError(
                        f"the line has {len(columns)} column(s), but the first "
                        f"line has {width}"
                    )
                words.append(_column(columns, flags.word_column))
                if has_tags:
                    tag = _column(columns, flags.tag_column)
                    if tag == _UNSPECIFIED and suffix_of(path) == _CONLLU:
                        raise ValueError(f"the word {words[-1]!r} has no tag")
                    tags.append(cleaned_tag(tag, flags.scheme))
            where = f"{path}, line {places[0] + 1}"
            source, scheme = tuple(places), flags.scheme
            found = sentence_of_words(where, words, tags, source, scheme), tags
        except ValueError as error:
            found = error
        yield where, found


def _column(columns, place):
    if not -len(columns) <= place < len(columns):
        raise ValueError(
            f"the line has no column {place}, but {len(columns)} column(s)"
        )
    return columns[place]


def _of_object(where, fields, form, has_tags, scheme):
    """Returns a `Sentence` and its tags, which are None with the form "spans"."""
    if isinstance(fields, ValueError):
        raise fields
    given = _list(fields, *_MEMBERS[form]) if has_tags else None
    if form == "spans":
        return sentence_of_text(where, fields.get("text"), given, fields), None
    tags = given and [cleaned_tag(tag, scheme) for tag in given]
    words = _list(fields, "tokens")
    return sentence_of_words(where, words, tags, fields, scheme), tags


def _list(fields, *names):
    """Returns the list under the first name that is present."""
    name = next((name for name in names if name in fields), names[0])
    if not isinstance(fields.get(name), list):
        raise ValueError(f"{name} is {fields.get(name)!r}, expected a list")
    return fields[name]


def sentence_of_words(identity, words, tags, source, scheme=None):
    """Makes a `Sentence` from words, with tags in a scheme or None.

    Raises:
        ValueError: words or tags are something else, differ in number, hold
            characters that `check_characters` refuses, or do not fit the scheme.
    """
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{word!r} is not a word: a text that is not blank")
        check_characters("text", word)
    bounds, place = [], 0
    for word in words:
        bounds.append((place, place + len(word)))
        place += len(word) + 1
    sentence = Sentence(identity, " ".join(words), tuple(bounds), source=source)
    if tags is None:
        return sentence
    if len(tags) != len(words):
        raise ValueError(f"the row has {len(words)} token(s), but {len(tags)} tag(s)")
    for tag in tags:
        check_characters("label", tag)
    entities = tuple(sentence.in_characters(schemes.entities_of(tags, scheme)))
    if scheme:
        schemes.check_tags(tags, scheme)
    return dataclasses.replace(sentence, entities=entities)


def sentence_of_text(identity, text, spans, source):
    """Makes a `Sentence` from a text, with spans or None.

    Raises:
        ValueError: text or spans have another type, a span has no words or exceeds the
            text, or two spans share a word.
    """
    if not isinstance(text, str):
        raise ValueError(f"text is {text!r}, expected a JSON string")
    check_characters("text", text)
    sentence = Sentence(identity, text, tuple(word_bounds(text)), source=source)
    if spans is None:
        return sentence
    entities = sorted((_entity(span, sentence) for span in spans), key=lambda e: e[1:])
    taken = 0
    for (label, first, end), entity in zip(
        sentence.in_words(entities), entities, strict=True
    ):
        if first >= end or first < taken:
            empty = "contains no whole word"
            problem = "shares a word with the one before it" if first < end else empty
            shown = f"the span {text[entity[1] : entity[2]]!r} ({label})"
            raise ValueError(f"{shown} {problem}")
        taken = end
    return dataclasses.replace(sentence, entities=tuple(entities))


def _entity(span, sentence):
    """Returns (type, start, end) of a span, without white space at its ends."""
    text, bounds = sentence.text, sentence.bounds
    keys, given = {"start": int, "end": int, "label": str}, span
    if isinstance(span, list) and len(span) == len(keys):  # doccano's
        span = dict(zip(keys, span, strict=True))
    elif isinstance(span, dict):  # doccano has other names, Label Studio a list
        offsets = {key: span.get(f"{key}_offset") for key in ("start", "end")}
        labels = span.get("labels")
        if isinstance(labels, list) and len(labels) == 1:
            (offsets["label"],) = labels
        span = {**offsets, **span}
    if not isinstance(span, dict) or any(
        type(span.get(key)) is not kind for key, kind in keys.items()
    ):
        raise ValueError(
            f"the span {given!r} is not an object with start and end, in characters, "
            "and a label"
        )
    start, end, label = (trimmed(nfc(span[key])) for key in keys)
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"the span from {start} to {end} leaves the text of {len(text)} characters"
        )
    check_characters("label", label)
    if not label:
        raise ValueError("a span has an empty label")
    first = bisect.bisect_right(bounds, start, key=lambda word: word[1])
    last = bisect.bisect_left(bounds, end, key=lambda word: word[0]) - 1
    if first > last:  # nothing but white space
        return label, end, end
    return label, max(start, bounds[first][0]), min(end, bounds[last][1])


def word_bounds(text):
    """Lists the bounds of each word in a raw text, in characters, end exclusive.

    White space separates words. Each Chinese character is a word, and so is each
    punctuation mark at the beginning or end of the text between spaces:
    "(U.S., 北京)" has the words ( U.S . , 北 京 ), "it's" is one.
    """
    bounds = []
    for run in _RUN.finditer(text):
        first, end = run.span()
        last = end
        while first < end and is_punctuation(text[first]):
            bounds.append((first, first + 1))
            first += 1
        while last > first and is_punctuation(text[last - 1]):
            last -= 1
        if last > first:
            bounds.append((first, last))
        bounds.extend((place, place + 1) for place in range(last, end))
    return bounds
