"""The features that `tokenizer(texts)` returns and models take."""

import collections.abc
import itertools
import operator
import re

import numpy as np

from albert_tf.errors import UserError

LONGEST, MAX_LENGTH = "longest", "max_length"
PARAMETERS = (
    "text_pairs",
    "max_length",
    "padding",
    "truncation",
    "special_tokens_in_text",
    "return_tensors",
)
"""Parameters of a tokenizer's call other than the texts."""
HEAD_SHARE = 4
"""Of the tokens kept of a text's head and tail, one in so many is the head's.

Sun et al., "How to Fine-Tune BERT for Text Classification?" (2019), section 5.3.1.
"""

_PADDING = {LONGEST: LONGEST, True: LONGEST, MAX_LENGTH: MAX_LENGTH, False: None}
_LONGEST_FIRST, _ONLY_FIRST, _ONLY_SECOND = "longest_first", "only_first", "only_second"
_TRUNCATION = {True: _LONGEST_FIRST, False: None, "do_not_truncate": None}
_TRUNCATION |= {name: name for name in (_LONGEST_FIRST, _ONLY_FIRST, _ONLY_SECOND)}
_ARRAYS = {"np": None, "tf": "tf", None: None}


def features_of(
    tokenizer,
    texts,
    text_pairs,
    max_length,
    padding,
    truncation,
    special_tokens_in_text,
    return_tensors,
):
    """Computes `Tokenizer.__call__`."""
    padding = _choice("padding", padding, _PADDING)
    truncation = _choice("truncation", truncation, _TRUNCATION)
    return_tensors = _choice("return_tensors", return_tensors, _ARRAYS)
    first, second = lists_of_texts(texts, text_pairs)
    rows = _encode(tokenizer, first, special_tokens_in_text)
    pairs = second and _encode(tokenizer, second, special_tokens_in_text)
    if max_length is not None:
        rows, pairs = _truncated(tokenizer, rows, pairs, max_length, truncation)
    elif padding == MAX_LENGTH:
        raise UserError("padding='max_length' needs max_length, the tokens of a row.")
    features = _with_special_tokens(tokenizer, rows, pairs)
    if padding:
        width = max_length if padding == MAX_LENGTH else None
        features = _padded(features, tokenizer, width)
    if return_tensors:
        import tensorflow as tf

        features = {name: tf.constant(values) for name, values in features.items()}
    return features


def _choice(name, value, choices):
    """Returns the meaning of an argument's value; 1 does not count as True."""
    if not isinstance(value, tuple(map(type, choices))) or value not in choices:
        expected = " or ".join(map(repr, choices))
        raise UserError(f"{name}={value!r}: expected {expected}.")
    return choices[value]


def lists_of_texts(texts, text_pairs=None):
    """Returns the texts as a list, and the second texts as a matching list or None.

    Raises:
        UserError: the values are not texts, or the numbers of texts differ.
    """
    first = list_of_texts("texts", texts)
    if text_pairs is None:
        return first, None
    second = list_of_texts("text_pairs", text_pairs)
    if len(first) != len(second):
        raise UserError(
            f"texts has {len(first)} texts, but text_pairs has {len(second)}; give "
            "each text one second text."
        )
    return first, second


def list_of_texts(name, texts):
    """Converts a str, or a collection of str, to a list.

    Raises:
        UserError: `texts` is neither; the message uses `name`.
    """
    texts = as_python(texts)
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes) or not hasattr(texts, "__iter__"):
        raise UserError(
            f"{name} must be a str or a list of str, got {type(texts).__name__}."
        )
    texts = elements(name, texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            more = "; pass second texts as text_pairs"
            raise UserError(
                f"{name}[{index}] must be a str, got {type(text).__name__}"
                f"{more if isinstance(text, tuple | list) else ''}."
            )
    return texts


def elements(name, values):
    """Lists the elements of a list, an array, a column or an iterator, read once.

    Raises:
        UserError: the values have no order (a set), or iterating gives names of columns
            (a dict, a table); the message uses `name`.
    """
    values = as_python(values)
    given = type(values).__name__
    if isinstance(values, set | frozenset):
        raise UserError(f"{name} must be a list, got a {given}, which has no order.")
    is_table = getattr(values, "ndim", 1) > 1 and hasattr(values, "columns")
    if isinstance(values, collections.abc.Mapping) or is_table:
        raise UserError(
            f"{name} must be a list, got a {given}; pass one of its columns."
        )
    return list(values)


def as_python(values):
    """Converts a tensor or array to lists or a number; returns others unchanged."""
    if hasattr(values, "numpy"):
        values = values.numpy()
    return values.tolist() if isinstance(values, np.ndarray) else values


def flat_ids(rows):
    """Concatenates the ids of rows; also returns the lengths, both int32."""
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    flat = itertools.chain.from_iterable(rows)
    return np.fromiter(flat, np.int32, int(lengths.sum())), lengths


def rows_of(ids, lengths):
    """Returns a list of ids for each row; the inverse of `flat_ids`."""
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths))[:-1]]


def encode_around(encode, rows, id_of):
    """Encodes texts around tokens whose ids are known; returns lists of ids.

    Args:
        encode: `encode_flat`, for the texts between the tokens.
        rows: the parts of each text, with the tokens at odd indices.
        id_of: a function from a token to its id.
    """
    between = iter(rows_of(*encode([part for row in rows for part in row[::2]])))
    encoded = []
    for row in rows:
        ids = next(between)
        for token in row[1::2]:
            ids += [id_of(token), *next(between)]
        encoded.append(ids)
    return encoded


def _encode(tokenizer, texts, special_tokens_in_text):
    """Encodes texts; special pieces in them, such as `[MASK]`, may mean their ids."""
    special = tokenizer.special_ids
    looks_itself = tokenizer.added_ids.issuperset(special.values())
    if looks_itself or not special_tokens_in_text:
        return rows_of(*tokenizer.encode_flat(texts))
    split = re.compile("({})".format("|".join(map(re.escape, special)))).split
    return encode_around(
        tokenizer.encode_flat, [split(text) for text in texts], special.get
    )


def _truncated(tokenizer, rows, pairs, max_length, truncation):
    seconds = [[]] * len(rows) if pairs is None else pairs
    special = tokenizer.layout.special(pairs is not None)
    room = operator.index(max_length) - special
    if room < 1:
        raise UserError(
            f"max_length={max_length} leaves no room for text beside the special "
            f"tokens; expected {special + 1} or more."
        )
    first, second = (np.array([*map(len, r)], np.int64) for r in (rows, seconds))
    too_long = np.flatnonzero(first + second > room)
    if len(too_long) and not truncation:
        index = too_long[0]
        raise UserError(
            f"texts[{index}] has {first[index] + second[index] + special} tokens, "
            f"special tokens included, more than max_length={max_length}; pass "
            "truncation=True to cut it."
        )
    first_left, second_left = _lengths_left(first, second, room, truncation)
    ends = tokenizer.rules.keeps_ends
    rows = _kept(rows, first_left, ends)
    return rows, pairs if pairs is None else _kept(pairs, second_left, ends)


def _kept(rows, lengths, ends):
    """Keeps the first (or last) tokens of rows."""
    return [
        row[len(row) - length :] if ends else row[:length]
        for row, length in zip(rows, lengths, strict=True)
    ]


def _lengths_left(first, second, room, truncation):
    """Returns `truncated_lengths`, or the lengths with only one text shortened."""
    if truncation not in (_ONLY_FIRST, _ONLY_SECOND):
        return truncated_lengths(first, second, room)
    cut, kept = (first, second) if truncation == _ONLY_FIRST else (second, first)
    left = np.minimum(cut, room - kept)
    too_long = np.flatnonzero((first + second > room) & (left < 1))
    if len(too_long):
        index = too_long[0]
        raise UserError(
            f"texts[{index}]: truncation={truncation!r} leaves nothing of that text, "
            f"since {kept[index]} tokens of the other are too many; pass "
            "truncation=True, or a greater max_length."
        )
    return (left, kept) if truncation == _ONLY_FIRST else (kept, left)


def truncated_lengths(first, second, room):
    """Computes two texts' lengths after the longer one repeatedly loses its last token.

    On a tie, the second text loses the token (`_truncate_seq_pair` of the official
    `classifier_utils.py`); this is the closed form of that loop.

    Args:
        first: int array `[N]`, tokens of the first texts.
        second: int array `[N]`, tokens of the second texts.
        room: tokens that fit.

    Returns:
        Two int arrays `[N]` whose sum is at most `room`.
    """
    half = (room + 1) // 2
    first_left = np.minimum(first, np.maximum(room - second, half))
    return first_left, np.minimum(second, room - first_left)


def _with_special_tokens(tokenizer, rows, pairs):
    """Returns the features of rows with their special tokens, as lists of lists."""
    layout, cls, sep = tokenizer.layout, [tokenizer.cls_id], [tokenizer.sep_id]
    firsts, seconds = [row + sep for row in rows], [[]] * len(rows)
    if pairs is not None:
        firsts = [row + sep * layout.between for row in rows]
        seconds = [row + sep for row in pairs]
    ids, segments = [], []
    for a, b in zip(firsts, seconds, strict=True):
        of_texts = [0] * len(a) + [layout.second_segment] * len(b)
        of_cls = [layout.cls_segment]
        last = layout.cls_last
        ids.append(a + b + cls if last else cls + a + b)
        segments.append(of_texts + of_cls if last else of_cls + of_texts)
    mask = [[1] * len(row) for row in ids]
    return {"input_ids": ids, "input_mask": mask, "segment_ids": segments}


def _padded(features, tokenizer, width):
    """Pads features to int32 `[batch, width]`; `width` None means the longest row."""
    layout = tokenizer.layout
    filling = {"input_ids": tokenizer.pad_id, "segment_ids": layout.pad_segment}
    padded = {}
    for name, rows in features.items():
        # Without rows there is room for an empty text: models read a first token.
        size = max(map(len, rows), default=2) if width is None else width
        array = np.full((len(rows), size), filling.get(name, 0), np.int32)
        for index, row in enumerate(rows):
            first = size - len(row) if layout.pads_left else 0
            array[index, first : first + len(row)] = row
        padded[name] = array
    return padded
