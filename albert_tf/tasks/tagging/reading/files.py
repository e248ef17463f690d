"""A file of tagged words of any form as a `TagFile`."""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import holds_objects
from albert_tf.io.text_files import read_lines
from albert_tf.tasks.tagging import schemes
from albert_tf.tasks.tagging.reading import conll
from albert_tf.tasks.tagging.reading import jsonl
from albert_tf.tasks.tagging.reading.sentences import TagFile

SUFFIXES = (*conll.SUFFIXES, *OBJECTS)


@dataclasses.dataclass(frozen=True)
class Reading:
    """Options of reading files; the flags explain each.

    Attributes:
        scheme: one of `SCHEMES`, or None to find it.
        word_column, tag_column: of CoNLL, from 0; -1 is the last one.
        skip_bad_rows: leave bad sentences out and count them.
    """

    scheme: str | None = None
    word_column: int = 0
    tag_column: int = -1
    skip_bad_rows: bool = False


def read_tag_file(path, reading, role="dev"):
    """Reads a file.

    Args:
        path: its suffix, one of `SUFFIXES`, names its form.
        reading: a `Reading`.
        role: its use; a file to be predicted need not have tags or spans.

    Returns:
        A `TagFile`; its sentences have entities unless the file has no tags.

    Raises:
        UserError: the file cannot be read, or holds no sentence; a sentence in it is
            bad, or its tags fit no scheme.
    """
    form, lines, with_tags, found = _opened(path, reading, role == "test")
    good, dropped, skipped = [], set(), 0
    for where, sentence, places in found:
        if reading.scheme and not isinstance(sentence, ValueError):
            sentence = _checked(*sentence, reading.scheme)
        if not isinstance(sentence, ValueError):
            good.append(sentence)
        elif reading.skip_bad_rows:
            skipped += 1
            dropped.update(places)
        else:
            raise UserError(
                f"{where}: {sentence}; correct it, or leave bad rows out with "
                "--skip_bad_rows."
            ) from sentence
    if not good:
        raise UserError(f"{path} holds no sentence that can be used.")
    scheme = _scheme(path, good, reading) if with_tags and form != "spans" else None
    sentences = tuple(sentence for sentence, _ in good)
    if dropped:
        sentences, lines = _without(sentences, lines, dropped)
    return TagFile(
        str(path), sentences, form, scheme, tuple(lines), role=role, num_skipped=skipped
    )


def _opened(path, reading, may_lack_tags):
    """Opens a file; returns its form, CoNLL's lines, whether it has tags, a reader."""
    if not holds_objects(path):
        lines = read_lines(path)
        with_tags = not may_lack_tags or conll.is_labelled(
            lines, reading.tag_column, reading.scheme
        )
        found = conll.read_conll(path, lines, reading, with_tags)
        return "conll", lines, with_tags, found
    first = jsonl.first_object(path)
    form = "spans" if "text" in first else "tokens"
    with_tags = not may_lack_tags or jsonl.MEMBERS[form] in first
    found = jsonl.read_jsonl(path, form, with_tags, reading.scheme)
    return form, (), with_tags, found


def _checked(sentence, tags, scheme):
    try:
        schemes.check_tags(tags or (), scheme)
    except ValueError as error:
        return error
    return sentence, tags


def _scheme(path, good, reading):
    if reading.scheme:
        return reading.scheme
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
