"""Files of tagged words: CoNLL's columns, JSONL or Parquet of tokens or of texts.

Columns as the shared tasks of CoNLL have them are a word a line, blank lines between:

    EU      NNP  B-NP  B-ORG
    rejects VBZ  B-VP  O

A tab separates the columns of a line that has one, otherwise white space does. Lines
whose word is -DOCSTART- separate documents.

JSONL has an object a line, of words with tags or of a text with spans:

{"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}
{"text": "EU rejects", "spans": [{"start": 0, "end": 2, "label": "ORG"}]}

A file has one of the two forms. `tags` and `spans` may lack in a file to predict. Other
members stay as they are in files of predictions. doccano's `label` of [start, end,
type] and what Label Studio exports are spans, too.

CoNLL-U (.conllu) has comments, and lines of several words or of none beside the words,
which are left out; the word is the second column and the tag the fourth, UPOS, unless
flags name others. Predictions keep all lines.
"""

import dataclasses
import re

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import holds_objects
from albert_tf.io.table_rows import read_rows
from albert_tf.io.table_rows import suffix_of
from albert_tf.io.text_files import read_lines
from albert_tf.tasks.examples import or_error
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.schemes import cleaned_tag
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_text
from albert_tf.tasks.tagging.sentences import sentence_of_words

_CONLLU = ".conllu"
SUFFIXES = (".conll", ".txt", ".tsv", ".iob", ".bio", ".bioes", _CONLLU, *OBJECTS)
_DOCUMENT = "-DOCSTART-"
_NO_WORD = re.compile(r"#|\d+[-.]\d+\t")  # of CoNLL-U
_UNSPECIFIED = "_"
_MEMBERS = {  # by form, those of the entities, of which one is there
    "tokens": ("tags", "ner_tags"),
    "spans": ("spans", "label", "labels", "entities"),
}


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


def columns_of(line):
    """Lists the columns of a line without the white space around them, str."""
    line = line.rstrip()
    if "\t" not in line:
        return line.split()
    return [column.strip() for column in line.split("\t")]


def read_tag_file(path, flags, role="dev", skip_bad_rows=False):
    """Reads a file.

    Args:
        path: its suffix, one of `SUFFIXES`, names its form.
        flags: `TagFileFlags`.
        role: its use; a file to be predicted need not have tags or spans.
        skip_bad_rows: leave bad sentences out and count them.

    Returns:
        A `TagFile`; its sentences have entities unless the file has no tags.

    Raises:
        UserError: the file cannot be read, or holds no sentence; a sentence in it is
            bad, or its tags fit no scheme.
    """
    if suffix_of(path) == _CONLLU:
        columns = {
            "word_column": flags.word_column or 1,
            "tag_column": 3 if flags.tag_column == -1 else flags.tag_column,
        }
        flags = dataclasses.replace(flags, **columns)
    form, lines, with_tags, found = _opened(path, flags, role == "test")
    good, dropped, skipped = [], set(), 0
    for where, sentence, places in found:
        if flags.scheme and not isinstance(sentence, ValueError):
            fault = or_error(schemes.check_tags, sentence[1] or (), flags.scheme)
            sentence = fault or sentence
        if not isinstance(sentence, ValueError):
            good.append(sentence)
        elif skip_bad_rows:
            skipped += 1
            dropped.update(places)
        else:
            raise UserError(
                f"{where}: {sentence}; correct it, or leave bad rows out with "
                "--skip_bad_rows."
            ) from sentence
    if not good:
        raise UserError(f"{path} holds no sentence that can be used.")
    scheme = _scheme(path, good, flags) if with_tags and form != "spans" else None
    sentences = tuple(sentence for sentence, _ in good)
    if dropped:
        sentences, lines = _without(sentences, lines, dropped)
    return TagFile(
        str(path), sentences, form, scheme, tuple(lines), role=role, num_skipped=skipped
    )


def _opened(path, flags, may_lack_tags):
    """Opens a file; returns its form, CoNLL's lines, whether it has tags, a reader."""
    if not holds_objects(path):
        lines = read_lines(path)
        groups = list(_groups(lines, suffix_of(path) == _CONLLU))
        with_tags = not may_lack_tags or _has_tag(lines, groups, flags)
        found = _read_conll(path, lines, groups, flags, with_tags)
        return "conll", lines, with_tags, found
    objects = (fields for _, fields in read_rows(path) if isinstance(fields, dict))
    first = next(objects, {})
    form = "spans" if "text" in first else "tokens"
    with_tags = not may_lack_tags or any(name in first for name in _MEMBERS[form])
    return form, (), with_tags, _read_jsonl(path, form, with_tags, flags.scheme)


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


def _without(sentences, lines, dropped):
    """Leaves lines out, and counts the places of words anew."""
    kept = [place for place in range(len(lines)) if place not in dropped]
    places = {place: new for new, place in enumerate(kept)}
    moved = tuple(
        dataclasses.replace(s, source=tuple(places[place] for place in s.source))
        for s in sentences
    )
    return moved, [lines[place] for place in kept]


def _has_tag(lines, groups, flags):
    """Returns whether the first word has a tag of the scheme (None: of any)."""
    for first, *_ in groups:
        columns = columns_of(lines[first])
        try:
            tag = cleaned_tag(columns[flags.tag_column], flags.scheme)
        except (IndexError, ValueError):
            return False
        return len(columns) > 1 and tag != _UNSPECIFIED
    return False


def _read_conll(path, lines, groups, flags, with_tags):
    """Yields (where, (`Sentence`, its tags) or ValueError, its lines) of a file."""
    width = None
    for places in groups:
        where = f"{path}, line {places[0] + 1}"
        words, tags, fault = [], [] if with_tags else None, None
        for place in places:
            columns = columns_of(lines[place])
            width = width or len(columns)
            try:
                if len(columns) != width:
                    raise ValueError(
                        f"the line has {len(columns)} column(s), but the first "
                        f"line has {width}"
                    )
                words.append(_column(columns, flags.word_column))
                if with_tags:
                    tag = _column(columns, flags.tag_column)
                    if tag == _UNSPECIFIED and suffix_of(path) == _CONLLU:
                        raise ValueError(f"the word {words[-1]!r} has no tag")
                    tags.append(cleaned_tag(tag, flags.scheme))
            except ValueError as error:
                where, fault = f"{path}, line {place + 1}", error
                break
        facts = where, words, tags, tuple(places), flags.scheme
        yield where, fault or or_error(_with_tags, *facts), places


def _with_tags(where, words, tags, source, scheme):
    return sentence_of_words(where, words, tags, source, scheme), tags


def _column(columns, place):
    if not -len(columns) <= place < len(columns):
        raise ValueError(
            f"the line has no column {place}, but {len(columns)} column(s)"
        )
    return columns[place]


def _groups(lines, is_conllu):
    """Yields the places of the words of each sentence, a list of int."""
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


def _read_jsonl(path, form, with_tags, scheme):
    """Yields (where, (`Sentence`, its tags) or ValueError, ()) of a file.

    Tags are None with the form "spans".
    """
    read = _of_text if form == "spans" else _of_tokens
    for where, fields in read_rows(path):
        if not isinstance(fields, ValueError):
            fields = or_error(read, where, fields, with_tags, scheme)
        yield where, fields, ()


def _of_tokens(where, fields, with_tags, scheme):
    tokens, tags = _list(fields, "tokens"), None
    if with_tags:
        tags = _list(fields, *_MEMBERS["tokens"])
        for tag in tags:
            if not isinstance(tag, str):
                raise ValueError(f"the tag {tag!r} is not a text, such as B-PER")
        tags = [cleaned_tag(tag, scheme) for tag in tags]
    return _with_tags(where, tokens, tags, fields, scheme)


def _of_text(where, fields, with_tags, scheme):
    spans = _list(fields, *_MEMBERS["spans"]) if with_tags else None
    return sentence_of_text(where, fields.get("text"), spans, fields), None


def _list(fields, *names):
    """Returns the list that the first of the members is that is there."""
    name = next((name for name in names if name in fields), names[0])
    if not isinstance(fields.get(name), list):
        raise ValueError(f"{name} is {fields.get(name)!r}, expected a list")
    return fields[name]
