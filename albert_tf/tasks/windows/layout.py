"""The windows of a text: their beginnings and ends, and the best one of each token.

A window is a row of a `RowLayout`: `[CLS] question [SEP] text [SEP]` or, where [CLS] is
last, `text [SEP] question [SEP] [CLS]`; without question, where only a text is read.
T texts, W windows, N tokens of texts in windows, one after the other.
"""

import dataclasses

import numpy as np

from albert_tf.row_layout import RowLayout


@dataclasses.dataclass(frozen=True)
class Layout:
    """The windows of some texts.

    Attributes:
        row_layout: the `RowLayout`.
        text: int64 `[W]`, whose window it is.
        index: int64 `[W]`, its number among the windows of its text.
        first: int64 `[W]`, the first token of the text in it.
        tokens: int64 `[W]`, the number of the text's tokens in it.
        before: int64 `[W]`, the number of tokens before the text.
        lengths: int64 `[W]`, all tokens of each window.
        text_tokens: int64 `[T]`, of each text.
    """

    row_layout: RowLayout
    text: np.ndarray
    index: np.ndarray
    first: np.ndarray
    tokens: np.ndarray
    before: np.ndarray
    lengths: np.ndarray
    text_tokens: np.ndarray

    @classmethod
    def of(cls, row_layout, others, text_tokens, max_seq_length, doc_stride):
        """Lays windows out, as official: the last one ends with the text.

        Args:
            row_layout: the `RowLayout`.
            others: int array `[T]`, tokens in a window beside each text, less than
                `max_seq_length`.
            text_tokens: int array `[T]`; a text of none gets one window.
            max_seq_length: tokens of a window at most, all counted.
            doc_stride: tokens from the beginning of a window to the next one's, at
                least 1.
        """
        room = max_seq_length - others  # [T]
        step = np.minimum(room, doc_stride)
        left_over = np.maximum(text_tokens - room, 0)
        counts = 1 + -(-left_over // step)
        text = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = index * step[text]
        tokens = np.minimum(room[text], text_tokens[text] - first)
        # [SEP] stands behind the text, and where [CLS] is last everything.
        before = 0 * others if row_layout.cls_last else others - 1
        return cls(
            row_layout=row_layout,
            text=text,
            index=index,
            first=first,
            tokens=tokens,
            before=before[text].astype(np.int64),
            lengths=tokens + others[text],
            text_tokens=text_tokens,
        )

    @property
    def cls_positions(self):
        """int64 `[W]`, where [CLS] stands in each window."""
        return self.lengths - 1 if self.row_layout.cls_last else 0 * self.lengths

    @property
    def starts(self):
        """int64 `[W]`, where each window begins in a row of them all."""
        return np.cumsum(self.lengths) - self.lengths

    def rows_and_positions(self):
        """Returns each token's window and its place in there, of all windows."""
        lengths = self.lengths
        rows = np.repeat(np.arange(len(lengths)), lengths)
        return rows, np.arange(len(rows)) - self.starts[rows]

    @property
    def first_lengths(self):
        """int64 `[W]`, tokens before the second of question and text."""
        layout = self.row_layout
        return self.tokens + layout.between if layout.cls_last else self.before

    def of_questions(self, rows, positions, kept):
        """Finds tokens of questions, and their numbers in the question; `[N]` each.

        Args:
            rows, positions: the results of `rows_and_positions`.
            kept: int array `[T]`, tokens of each text's question.
        """
        before = self.first_lengths[rows] if self.row_layout.cls_last else 1
        place = positions - before
        here = np.flatnonzero((place >= 0) & (place < kept[self.text[rows]]))
        return here, place[here]

    def special_ids(self, rows, positions, tokenizer):
        """Returns int32 `[N]`: the id of [CLS] where it stands, elsewhere [SEP]'s.

        Args:
            rows, positions: the results of `rows_and_positions`.
            tokenizer: as returned by `albert_tf.load_tokenizer`.
        """
        is_cls = positions == self.cls_positions[rows]
        ids = np.where(is_cls, tokenizer.cls_id, tokenizer.sep_id)
        return ids.astype(np.int32)

    def of_texts(self, rows, positions):
        """Finds tokens of texts, and their numbers in the text; `[N]` each.

        Args:
            rows, positions: the results of `rows_and_positions`.
        """
        place = positions - self.before[rows]
        here = np.flatnonzero((place >= 0) & (place < self.tokens[rows]))
        return here, place[here] + self.first[rows[here]]

    def max_context(self, rows, tokens):
        """Returns whether a token's window gives it more context than every other one.

        The context of a token is the lesser number of tokens left and right of it,
        and a hundredth of the window's length; of equal windows the first is best.

        Args:
            rows: int array `[N]`, the window.
            tokens: int array `[N]`, the token's number in its text.

        Returns:
            bool array `[N]`.
        """
        from_left = tokens - self.first[rows]
        from_right = self.tokens[rows] - 1 - from_left
        score = np.minimum(from_left, from_right) + 0.01 * self.tokens[rows]
        text_starts = np.cumsum(self.text_tokens) - self.text_tokens
        key = text_starts[self.text[rows]] + tokens
        best = np.full(int(self.text_tokens.sum()), -1.0)
        owner = np.zeros(len(best), np.int64)
        index = self.index[rows]
        for window in range(int(index.max(initial=-1)) + 1):
            here = np.flatnonzero(index == window)
            here = here[score[here] > best[key[here]]]
            best[key[here]] = score[here]
            owner[key[here]] = window
        return owner[key] == index
