"""Several short pairs in one row: a packing of masked, padded sequences.

Pairs lie one after the other in a row, each whole and with its own [CLS], segments
and mask; `pair_ids` numbers the pair of each token, so that the model can keep
them apart. Predictions, and their contexts, are the same as without packing.

Shapes: N pairs, R rows, S tokens, P predictions, K pairs of a row at most.
"""

import numpy as np


def pack(features, max_pairs_per_row, pad_id):
    """Packs pairs into few rows by best fit.

    A row takes pairs while their tokens fit into S, their predictions into P and the
    pairs into K. The features are those of static records, arrays [N, ...]; the result
    is the features of packed records, arrays [R, ...].
    """
    lengths = features["input_mask"].sum(axis=1)
    predictions = features["masked_lm_weights"].sum(axis=1).astype(np.int64)
    ones = np.ones_like(lengths)
    widths = (
        features["input_ids"].shape[1],
        features["masked_lm_ids"].shape[1],
        max_pairs_per_row,
    )
    sizes = np.stack([lengths, predictions, ones], axis=1)
    rows = assign_rows(sizes, widths)
    tokens, slots, pairs = (
        _Layout(size, rows, width) for size, width in zip(sizes.T, widths, strict=True)
    )
    first_token = tokens.offsets[:, None]  # [N, 1]
    pair_ids = np.broadcast_to(pairs.offsets[:, None] + 1, features["input_ids"].shape)
    return {
        "input_ids": tokens.lay(features["input_ids"], pad_id),
        "input_mask": tokens.lay(features["input_mask"]),
        "segment_ids": tokens.lay(features["segment_ids"]),
        "token_boundary": tokens.lay(features["token_boundary"]),
        "pair_ids": tokens.lay(pair_ids),
        "masked_lm_positions": slots.lay(features["masked_lm_positions"] + first_token),
        "masked_lm_ids": slots.lay(features["masked_lm_ids"]),
        "masked_lm_weights": slots.lay(features["masked_lm_weights"]),
        "cls_positions": pairs.lay(first_token),
        "sentence_order_labels": pairs.lay(features["next_sentence_labels"]),
        "sentence_order_weights": pairs.lay(ones[:, None].astype(np.float32)),
    }


def assign_rows(sizes, limits):
    """Chooses a row for each item: best fit, the largest first.

    `sizes` are ints [items, measures], whose first measure is to be filled; `limits`
    bound a row in each measure. Returns each item's row, ints [items], from 0.
    """
    left = np.tile(np.array(limits), (len(sizes), 1))  # [rows, measures]
    rows = np.empty(len(sizes), np.int64)
    for item in np.argsort(-sizes[:, 0], kind="stable"):
        fits = (left >= sizes[item]).all(axis=1)
        # Empty rows have the most room, so they come last.
        row = np.argmin(np.where(fits, left[:, 0], limits[0] + 1))
        left[row] -= sizes[item]
        rows[item] = row
    return rows


class _Layout:
    """Places for `sizes[i]` values of item i: in `rows[i]`, behind earlier items."""

    def __init__(self, sizes, rows, width):
        self._sizes = sizes
        self._rows = rows
        self._shape = (rows.max() + 1, width)
        order = np.argsort(rows, kind="stable")
        ends = np.cumsum(sizes[order])
        starts = ends - sizes[order]
        first_of_row = np.searchsorted(rows[order], rows[order])
        self.offsets = np.empty_like(starts)
        self.offsets[order] = starts - starts[first_of_row]

    def lay(self, values, empty=0):
        """Copies the first `sizes[i]` of `values[i]` to their places."""
        place = np.arange(values.shape[1])
        used = place < self._sizes[:, None]
        row = np.broadcast_to(self._rows[:, None], used.shape)[used]
        column = (self.offsets[:, None] + place)[used]
        laid = np.full(self._shape, empty, values.dtype)
        laid[row, column] = values[used]
        return laid
