"""Splits long texts into overlapping windows.

A window is a row of a `RowLayout`: `[CLS] question [SEP] text [SEP]` or, if [CLS] is
last, `text [SEP] question [SEP] [CLS]`; the question is optional. `Layout` computes the
bounds of windows, and the best window for each token; for serving,
`tokenization.in_graph.windows` does the same inside a TensorFlow graph.

Shapes: B texts, W windows, T tokens per window, N text tokens in all windows together.
"""

import dataclasses
import functools

import numpy as np

from albert_tf.row_layout import RowLayout


@dataclasses.dataclass(frozen=True)
class Layout:
    """The windows of some texts.

    Attributes:
        row_layout: the `RowLayout`.
        text: int64 `[W]`, the index of the window's text.
        index: int64 `[W]`, the window's index among the windows of its text.
        first: int64 `[W]`, the index of the window's first text token in the text.
        tokens: int64 `[W]`, the number of text tokens in the window.
        before: int64 `[W]`, the number of tokens before the text.
        lengths: int64 `[W]`, the number of all tokens in the window.
        text_tokens: int64 `[B]`, the number of tokens in each text.
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
        """Lays out windows as the official code does: the last one ends with the text.

        Args:
            row_layout: the `RowLayout`.
            others: int array `[B]`, the number of tokens in a window besides each text,
                less than `max_seq_length`.
            text_tokens: int array `[B]`; a text without tokens gets one window.
            max_seq_length: maximum number of tokens in a window, including all others.
            doc_stride: tokens between the starts of consecutive windows, at least 1.
        """
        room = max_seq_length - others  # [B]
        step = np.minimum(room, doc_stride)
        left_over = np.maximum(text_tokens - room, 0)
        counts = 1 + -(-left_over // step)
        text = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = index * step[text]
        tokens = np.minimum(room[text], text_tokens[text] - first)
        # [SEP] follows the text, and so does everything else if [CLS] is last.
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
        """int64 `[W]`, the position of [CLS] in each window."""
        return self.lengths - 1 if self.row_layout.cls_last else 0 * self.lengths

    @property
    def starts(self):
        """int64 `[W]`, the start of each window if all are concatenated."""
        return np.cumsum(self.lengths) - self.lengths

    @functools.cached_property
    def rows(self):
        """int64 `[tokens of all windows]`, the window of each token."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @functools.cached_property
    def positions(self):
        """int64 `[tokens of all windows]`, the position of each token in its window."""
        return np.arange(len(self.rows)) - self.starts[self.rows]

    @property
    def first_lengths(self):
        """int64 `[W]`, the number of tokens before the second of question and text."""
        layout = self.row_layout
        return self.tokens + layout.between if layout.cls_last else self.before

    def of_questions(self, kept):
        """Finds the tokens of questions, as `in_texts` finds those of texts.

        Args:
            kept: int array `[B]`, the number of tokens in each text's question.
        """
        before = self.first_lengths[self.rows] if self.row_layout.cls_last else 1
        return self._within(before, kept[self.text[self.rows]])

    @functools.cached_property
    def in_texts(self):
        """The text tokens in all windows, three int64 `[N]`.

        Each token's index among the tokens of all windows, its text, and its index in
        the text.
        """
        places, text, number = self._within(
            self.before[self.rows], self.tokens[self.rows]
        )
        return places, text, number + self.first[self.rows[places]]

    def _within(self, before, count):
        number = self.positions - before
        places = np.flatnonzero((number >= 0) & (number < count))
        return places, self.text[self.rows[places]], number[places]

    def special_ids(self, tokenizer):
        """Returns int32 `[tokens of all windows]`: ids of [CLS] and [SEP]."""
        is_cls = self.positions == self.cls_positions[self.rows]
        ids = np.where(is_cls, tokenizer.cls_id, tokenizer.sep_id)
        return ids.astype(np.int32)

    def max_context(self):
        """Marks the text tokens that have the most context in this window.

        A token's context is the smaller number of tokens to its left or right, plus a
        hundredth of the window's length; among equal windows the first is best.

        Returns:
            bool `[tokens of all windows]`.
        """
        places, text, number = self.in_texts
        rows = self.rows[places]
        from_left = number - self.first[rows]
        from_right = self.tokens[rows] - 1 - from_left
        score = np.minimum(from_left, from_right) + 0.01 * self.tokens[rows]
        key = (np.cumsum(self.text_tokens) - self.text_tokens)[text] + number
        best = np.zeros(int(self.text_tokens.sum()))
        np.maximum.at(best, key, score)
        is_best = score == best[key]
        index = self.index[rows]
        owner = np.full(len(best), len(self.index))
        np.minimum.at(owner, key[is_best], index[is_best])
        found = np.zeros(len(self.rows), np.bool_)
        found[places] = owner[key] == index
        return found
