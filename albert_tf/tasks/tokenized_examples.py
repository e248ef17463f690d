"""Examples as token ids, ready to be batched at any length."""

import dataclasses

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.truncation import truncated_lengths


@dataclasses.dataclass(frozen=True)
class TokenizedExamples:
    """Rows `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]` of different lengths.

    Attributes:
        ids: int32, the ids of all rows, one row after the other.
        starts: int64 `[N]`, where each row begins in `ids`.
        lengths: int32 `[N]`, tokens of each row.
        first_lengths: int32 `[N]`, tokens of `[CLS] A [SEP]`; segment 1 begins there.
        labels: as in `Table`, or None.
    """

    ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    first_lengths: np.ndarray
    labels: np.ndarray | None = None

    def __len__(self):
        return len(self.starts)

    def take(self, rows):
        """The examples at `rows`, an int array, in that order."""
        return TokenizedExamples(
            self.ids,
            self.starts[rows],
            self.lengths[rows],
            self.first_lengths[rows],
            None if self.labels is None else self.labels[rows],
        )


def tokenize_texts(texts, text_pairs, tokenizer, max_seq_length, labels=None):
    """Tokenizes and truncates texts or pairs of texts into `TokenizedExamples`.

    Args:
        texts: list of strings.
        text_pairs: list of strings of the same length, or None.
        tokenizer: as returned by `albert_tf.load_tokenizer`.
        max_seq_length: tokens of a row at most, the special ones counted.
        labels: kept as they are.

    Raises:
        UserError: `max_seq_length` leaves no room for text.
    """
    room = max_seq_length - (2 if text_pairs is None else 3)
    if room < 2:
        raise UserError(
            f"--max_seq_length={max_seq_length} leaves no room for text beside the "
            "special tokens; expected 5 or more."
        )
    first = tokenizer.encode_batch(texts)
    if text_pairs is None:
        second = [[]] * len(first)
    else:
        second = tokenizer.encode_batch(text_pairs)
    left = truncated_lengths(_lengths(first), _lengths(second), room)
    rows = []
    for a, b, a_left, b_left in zip(first, second, *left, strict=True):
        row = [tokenizer.cls_id, *a[:a_left], tokenizer.sep_id]
        if text_pairs is not None:
            row += [*b[:b_left], tokenizer.sep_id]
        rows.append(row)
    lengths = _lengths(rows)
    return TokenizedExamples(
        ids=np.concatenate(rows).astype(np.int32),
        starts=(np.cumsum(lengths) - lengths).astype(np.int64),
        lengths=lengths.astype(np.int32),
        first_lengths=(left[0] + 2).astype(np.int32),
        labels=labels,
    )


def _lengths(rows):
    return np.fromiter(map(len, rows), np.int64, len(rows))
