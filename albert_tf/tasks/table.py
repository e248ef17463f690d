"""A labelled or unlabelled table of texts in memory."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Table:
    """The good rows of one file, column by column.

    Attributes:
        path: the file it was read from.
        texts: first (or only) text of each row.
        text_pairs: second text of each row, or None for single-text tasks.
        labels: `[N]` int32 ids or float32 values, `[N, L]` int32 for multi-label;
            None if the file has no labels.
        rows: index of each row in the file, from 0, the header not counted.
        num_skipped: bad rows that were left out.
    """

    path: str
    texts: list
    text_pairs: list | None
    labels: np.ndarray | None
    rows: np.ndarray
    num_skipped: int = 0

    def __len__(self):
        return len(self.texts)
