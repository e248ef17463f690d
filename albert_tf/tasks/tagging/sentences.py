"""Sentences of tagged words in memory, whatever file they are from."""

import bisect
import dataclasses
import re
import typing

from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.tables import check_characters
from albert_tf.tasks.tables import nfc
from albert_tf.tasks.tables import trimmed
from albert_tf.tasks.tagging.schemes import entities_of
from albert_tf.tokenization.normalization import CHINESE
from albert_tf.tokenization.normalization import is_punctuation

_RUN = re.compile(rf"{CHINESE}|[^\s{CHINESE[1:-1]}]+")


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A text, its words, and the entities in it.

    Attributes:
        id: where it stands in its file.
        text: the text; of words that came one by one, with a space between them.
        bounds: the first character of each word and the one after its last, pairs.
        entities: (type, first character, the one after the last) of each, in order;
            None where they are unknown.
        source: its part of the file.
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

        An entity that begins or ends within a word has all of the word.
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


def sentence_of_words(identity, words, tags, source, scheme=None):
    """Makes a `Sentence` of words with tags of a scheme, or with None.

    Raises:
        ValueError: words or tags are something else, differ in number or hold
            characters that `check_characters` refuses.
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
    entities = tuple(sentence.in_characters(entities_of(tags, scheme)))
    return dataclasses.replace(sentence, entities=entities)


def sentence_of_text(identity, text, spans, source):
    """Makes a `Sentence` of a text with spans, or with None.

    Raises:
        ValueError: text or spans are something else, a span has no word or is not
            within the text, or two of them share a word.
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
    """Returns (type, start, end) of a span, without the white space at its ends."""
    text, bounds = sentence.text, sentence.bounds
    keys, given = {"start": int, "end": int, "label": str}, span
    if isinstance(span, list) and len(span) == len(keys):  # doccano's
        span = dict(zip(keys, span, strict=True))
    elif isinstance(span, dict):  # doccano has other names, Label Studio a list
        offsets = {key: span.get(f"{key}_offset") for key in ("start", "end")}
        labels = span.get("labels")
        if isinstance(labels, list) and len(labels) == 1:
            offsets["label"] = labels[0]
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


@dataclasses.dataclass(frozen=True)
class TagFile(Examples):
    """Contents of a file with tags.

    Attributes:
        sentences: the `Sentence`s, a tuple.
        form: "conll", "tokens" or "spans".
        scheme: the scheme of the file's tags; None where it has none.
        lines: of CoNLL, all lines of the file but sentences left out; the `source` of a
            sentence are the places of its words among them.
    """

    sentences: tuple
    form: str
    scheme: str | None = None
    lines: tuple = ()

    def __len__(self):
        return len(self.sentences)

    def types(self):
        """Lists the types of its entities, sorted."""
        return sorted({entity[0] for s in self.sentences for entity in s.entities})

    @property
    def is_labelled(self):
        return self.sentences[0].entities is not None

    def inputs_digest(self):
        return digest_of((s.text, s.bounds) for s in self.sentences)

    def digest(self):
        return digest_of((s.text, s.bounds, s.entities) for s in self.sentences)


def word_bounds(text):
    """Lists (first character, the one after the last) of each word of a raw text.

    White space separates words. A Chinese character is a word, and so is each
    punctuation mark at the beginning or the end of the text between spaces:
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
