"""Segments of a stream of text, for a permutation language model with memory.

A stream is one long array of token ids. Its segments follow each other: the first part
of each, `reuse_len` tokens, begins where the first part of the one before ends, and
fills the memory of the next segment. The text behind it is split into two texts, of
which the second follows the first or comes from elsewhere in the stream.

Source: `_create_data` and `_split_a_and_b` in data_utils.py of zihangdai/xlnet.
"""

import bisect

import numpy as np

from data_pipeline.sequences.instances import truncated_lengths

SPECIAL = 3
"""The number of special tokens in a segment: two [SEP] and [CLS]."""


def reused_length(tokens):
    """Returns the length of a segment's first part: half, as in the official code."""
    return tokens // 2


def default_predictions(tokens):
    """Returns a segment's number of predictions: 85 of 512 tokens, as officially."""
    return max(2, tokens // 6)


def cut_stream(boundaries, tokens, rng):
    """Cuts a stream into segments.

    Args:
        boundaries: list of int, where each sentence starts, and the end of the stream.
        tokens: S, even; tokens of a segment.
        rng: draws by `random()`, `choice(list)` and `randint(lowest, highest)`, as a
            `random.Random`.

    Returns:
        int32 array [segments, 6]: where the segment begins, where A begins and ends,
        where B begins and ends, and whether B follows A.
    """
    reuse_len = reused_length(tokens)
    total = tokens - reuse_len - SPECIAL
    rows = []
    while True:
        begin = len(rows) * reuse_len
        texts = split_texts(boundaries, begin + reuse_len, total, rng)
        if texts is None:
            return np.array(rows, np.int32).reshape(-1, 6)
        rows.append((begin, *texts))


def split_texts(boundaries, begin, total, rng):
    """Splits a segment into its two texts; the official `_split_a_and_b`.

    Args:
        boundaries: as for `cut_stream`.
        begin: where the first text begins.
        total: tokens of both together.
        rng: as for `cut_stream`.

    Returns:
        (a_begin, a_end, b_begin, b_end, follows), or None where the stream ends.
    """
    length = boundaries[-1]
    if begin + total >= length:
        return None
    at_stop = bisect.bisect_left(boundaries, begin + total)
    cuts = boundaries[bisect.bisect_right(boundaries, begin) : at_stop]
    follows = bool(cuts) and rng.random() >= 0.5
    a_end = rng.choice(cuts) if cuts else boundaries[at_stop]
    if follows:
        b_begin, b_end = a_end, boundaries[at_stop]
    else:
        size = max(1, total - (a_end - begin))
        drawn = rng.randint(0, length - 1 - size)
        b_begin = boundaries[bisect.bisect_right(boundaries, drawn) - 1]
        b_end = boundaries[bisect.bisect_left(boundaries, drawn + size)]
        b_end = min(b_end, length - 1)
    a_length, b_length = truncated_lengths(a_end - begin, b_end - b_begin, total)
    a_end, b_end = begin + a_length, b_begin + b_length
    if max(a_end, b_end) >= length:
        return None
    return begin, a_end, b_begin, b_end, int(follows)


def lay_out(ids, word_starts, rows, tokens, sep_id, cls_id):
    """Lays out `[reused | A SEP B SEP CLS]` for the rows of `cut_stream`.

    Args:
        ids: int32 array, the tokens of the stream.
        word_starts: bool array, whether each of them starts a word.
        rows: int array [segments, 6].
        tokens: S.
        sep_id, cls_id: ids of the special tokens, which count as starts of words.

    Returns:
        A dict of int32 `input_ids`, `segment_ids` (0 up to the first [SEP], 1 up to the
        second, 2 for [CLS]) and `token_boundary` (1 where a word starts), all
        [segments, S].
    """
    begins, a_begin, a_end, b_begin, b_end, _ = (column[:, None] for column in rows.T)
    position = np.arange(tokens)  # [S]
    reuse_len = reused_length(tokens)
    first_sep = reuse_len + a_end - a_begin  # [segments, 1]
    second_sep = first_sep + 1 + b_end - b_begin
    behind_a = position > first_sep
    source = np.where(
        behind_a, b_begin + position - first_sep - 1, a_begin + position - reuse_len
    )
    source = np.where(position < reuse_len, begins + position, source)
    is_sep = (position == first_sep) | (position == second_sep)
    is_cls = position > second_sep
    special = np.where(is_cls, cls_id, sep_id)
    is_text = ~(is_sep | is_cls)
    source = np.where(is_text, source, 0)
    segment_ids = behind_a * 1 + is_cls
    return {
        "input_ids": np.where(is_text, ids[source], special).astype(np.int32),
        "segment_ids": segment_ids.astype(np.int32),
        "token_boundary": (word_starts[source] | ~is_text).astype(np.int32),
    }
