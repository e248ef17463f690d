"""A labelled or unlabelled table of texts in memory."""

import dataclasses
import hashlib

import numpy as np

from albert_tf.tasks.examples import Examples


@dataclasses.dataclass(frozen=True)
class Table(Examples):
    """The good rows of one file, column by column.

    Attributes:
        texts: first (or only) text of each row.
        text_pairs: second text of each row, or None for single-text tasks.
        labels: `[N]` int32 ids or float32 values, `[N, L]` int32 for multi-label;
            None if the file has no labels.
        rows: index of each row in the file, from 0, the header not counted.
        negatives: third text of each row, or None.
    """

    texts: list
    text_pairs: list | None
    labels: np.ndarray | None
    rows: np.ndarray
    negatives: list | None = None

    def __len__(self):
        return len(self.texts)

    @property
    def is_labelled(self):
        return self.labels is not None

    def inputs_digest(self):
        digest = hashlib.sha256()
        columns = (self.texts, self.text_pairs or [])
        for texts in (*columns, self.negatives) if self.negatives else columns:
            for text in texts:
                # A NUL cannot occur in a table's text: it separates them.
                digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(b"\0")
        return digest.hexdigest()

    def digest(self):
        digest = hashlib.sha256(self.inputs_digest().encode())
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).tobytes())
        return digest.hexdigest()
