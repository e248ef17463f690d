"""Converts between tags and entities (IOB1, IOB2, BIOES, plain tags); decodes tags.

IOB2 begins each entity with B; IOB1 does so only directly after an entity of the same
type. BIOES uses S for an entity of one word and E for the last word of a longer one. A
plain tag, such as a part of speech, makes each word an entity whose type is the tag.

Decoding picks the best tag of each word, or the best sequence that is legal in a
scheme. Shapes: N words of a text, L tags.

Sources: Tjong Kim Sang and Veenstra, 1999, "Representing Text Chunks"; conlleval of the
shared task CoNLL-2000; `get_entities` of seqeval.
"""

import functools
import itertools

import numpy as np

from albert_tf.tasks.tables import nfc
from albert_tf.tasks.tables import trimmed

OUTSIDE = "O"
IOB1, IOB2, BIOES, PLAIN = "iob1", "iob2", "bioes", "plain"
_LETTERS = {IOB2: "BI", IOB1: "BI", BIOES: "BIES"}
ENTITY_SCHEMES = tuple(_LETTERS)
"""The schemes that are detected; if several fit, the first one wins."""
SCHEMES = (*ENTITY_SCHEMES, PLAIN)
GREEDY, LEGAL = "greedy", "legal"
DECODERS = (GREEDY, LEGAL)
FORBIDDEN = -1e9
"""Score of a transition that a scheme forbids."""


@functools.cache
def split_tag(tag):
    """Splits a tag into its letter and its type, ("O", "") outside of entities.

    Raises:
        ValueError: the tag is neither O nor a letter with a type.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    letter, _, label = tag.partition("-")
    if not (letter in ("B", "I", "E", "S") and label):
        raise ValueError(
            f"the tag {tag!r} is neither O nor a letter of B, I, E and S with a type, "
            "such as B-PER (--scheme=plain takes parts of speech and other tags)"
        )
    return letter, label


def cleaned_tag(tag, scheme):
    """Strips white space around a file's tag, and around its type.

    Raises:
        ValueError: the tag does not belong to the scheme, or to any scheme for None.
    """
    if not isinstance(tag, str):
        raise ValueError(f"the tag {tag!r} is not a text, such as B-PER")
    tag = trimmed(nfc(tag))
    if scheme == PLAIN:
        if not tag:
            raise ValueError("a tag is empty")
        return tag
    letter, _, label = tag.partition("-")
    tag = f"{letter}-{trimmed(label)}" if label else tag
    split_tag(tag)
    return tag


def is_entity(tag, scheme):
    """Returns whether a word with this tag is in an entity; plain tags always are."""
    return scheme == PLAIN or tag != OUTSIDE


def type_of(tag, scheme):
    """Returns the type of an entity whose words have this tag."""
    return tag if scheme == PLAIN else split_tag(tag)[1]


def begins(before, after, scheme=None):
    """Returns whether an entity begins at the tag `after`, which follows `before`.

    Illegal sequences are interpreted as in conlleval and seqeval, and in the same way
    for all schemes except plain tags.
    """
    if scheme == PLAIN:
        return True
    letter_before, label_before = split_tag(before)
    letter, label = split_tag(after)
    if letter == OUTSIDE:
        return False
    if letter_before == OUTSIDE or label_before != label:
        return True
    return letter in "BS" or letter_before in "ES"


@functools.cache
def is_legal(before, after, scheme):
    """Returns whether `after` may follow `before`; texts start and end with O."""
    if scheme == PLAIN:
        return True
    letter_before, label_before = split_tag(before)
    letter, label = split_tag(after)
    if any(
        found not in (OUTSIDE, *_LETTERS[scheme]) for found in (letter_before, letter)
    ):
        return False
    goes_on = letter_before in ("B", "I") and label_before == label
    if scheme == BIOES:
        is_open = letter_before in ("B", "I")
        return goes_on == is_open == (letter in ("I", "E"))
    needs_one_before = "I" if scheme == IOB2 else "B"
    return goes_on or letter != needs_one_before


def entities_of(tags, scheme=None):
    """Lists the entities in a text: (type, first word, word after the last)."""
    found, before = [], OUTSIDE
    for place, tag in enumerate(tags):
        if begins(before, tag, scheme):
            found.append([type_of(tag, scheme), place, place])
        if is_entity(tag, scheme):
            found[-1][2] = place + 1
        before = tag
    return [tuple(entity) for entity in found]


def tags_of(entities, count, scheme):
    """Lists the tags of `count` words with these entities, str.

    Words without a plain tag get None. `entities` has the form of `entities_of`.
    """
    if scheme == PLAIN:
        tags = [None] * count
        for label, first, end in entities:
            tags[first:end] = [label] * (end - first)
        return tags
    tags = [OUTSIDE] * count
    for label, first, end in entities:
        tags[first:end] = [f"I-{label}"] * (end - first)
        touches = first > 0 and tags[first - 1] != OUTSIDE
        if scheme != IOB1 or (touches and split_tag(tags[first - 1])[1] == label):
            tags[first] = f"B-{label}"
        if scheme == BIOES:
            tags[end - 1] = f"E-{label}" if end - first > 1 else f"S-{label}"
    return tags


def all_tags(labels, scheme):
    """Returns the tags for entity types, a tuple: O first, then grouped by type."""
    if scheme == PLAIN:
        return tuple(labels)
    letters = _LETTERS[scheme]
    tags = (f"{letter}-{label}" for label in labels for letter in letters)
    return (OUTSIDE, *tags)


def check_tags(tags, scheme):
    """Checks that the tags of a text are legal in a scheme.

    Raises:
        ValueError: the message has the first illegal tag.
    """
    for before, after in _pairs(tags):
        if not is_legal(before, after, scheme):
            raise ValueError(_forbids(scheme, before, after))


def find_scheme(texts):
    """Detects the scheme of the tags in texts; IOB2 if several fit.

    Args:
        texts: iterable of (place in the file, tags).

    Raises:
        ValueError: no scheme fits; the message says why.
    """
    places = {}
    for where, tags in texts:
        for pair in _pairs(tags):
            places.setdefault(pair, where)
    broken = {}
    for scheme in ENTITY_SCHEMES:
        wrong = [pair for pair in places if not is_legal(*pair, scheme)]
        if not wrong:
            return scheme
        broken[scheme] = f"{_forbids(scheme, *wrong[0])} ({places[wrong[0]]})"
    letters = {split_tag(tag)[0] for pair in places for tag in pair}
    told = [BIOES] if letters & {"E", "S"} else [IOB2, IOB1]
    raise ValueError("; ".join(broken[scheme] for scheme in told))


def _pairs(tags):
    return itertools.pairwise([OUTSIDE, *tags, OUTSIDE])


def _forbids(scheme, before, after):
    return f"{scheme} does not allow {after} after {before}"


def steps(labels, scheme, decoder):
    """Returns transition scores between tags, float32 `[L, L]`: 0 if legal.

    Returns None for decoders that pick each word's most probable tag.
    """
    if decoder == GREEDY or scheme == PLAIN:
        return None
    legal = [[is_legal(before, tag, scheme) for tag in labels] for before in labels]
    return np.where(np.array(legal), 0, FORBIDDEN).astype(np.float32)


def beginnings(labels, scheme):
    """Returns whether an entity begins at a tag after another tag, bool `[L + 1, L]`.

    The last row is for the first word of a text.
    """
    before = (*labels, OUTSIDE)
    return np.array([[begins(last, tag, scheme) for tag in labels] for last in before])


def scores_without_token(labels, scheme):
    """Returns logits, float32 `[L]`, of a word that the tokenizer drops.

    The word is in no entity; with plain tags, all tags are equally likely.
    """
    wrong = 0 if scheme == PLAIN else FORBIDDEN
    return np.array([0 if tag == OUTSIDE else wrong for tag in labels], np.float32)


def best_tags(log_probs, labels, allowed):
    """Finds the tags of a text, int `[N]`.

    Args:
        log_probs: float32 `[N, L]`.
        labels: the tags by id; O is one of them if there are steps.
        allowed: the addends of steps, as `steps` returns them: None, for each word the
            most probable tag; or `[L, L]`, the best sequence (Viterbi, 1967).
    """
    if allowed is None or not len(log_probs):
        return log_probs.argmax(axis=1)
    outside = labels.index(OUTSIDE)
    scores = log_probs[0] + allowed[outside]  # [L]
    origins = []
    for word in log_probs[1:]:
        paths = scores[:, None] + allowed  # [L, L]
        origins.append(paths.argmax(axis=0))
        scores = paths.max(axis=0) + word
    tags = [int((scores + allowed[:, outside]).argmax())]
    for origin in reversed(origins):
        tags.append(int(origin[tags[-1]]))
    return np.array(tags[::-1])
