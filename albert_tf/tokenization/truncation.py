"""Truncation of a text or a pair to the room in a sequence, as official."""

import numpy as np


def truncated_lengths(first, second, room):
    """Returns two texts' lengths once the longer loses its tail, one token at a time.

    On a tie the second text loses a token (`_truncate_seq_pair` of the official
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
