"""Splits long texts into overlapping windows.

A window is a row of a `RowLayout`: `[CLS] question [SEP] text [SEP]` or, if [CLS] is
last, `text [SEP] question [SEP] [CLS]`; the question is optional. `Layout` computes the
bounds of windows, and the best window for each token; for serving,
`tokenization.in_graph.windows` does the same inside a TensorFlow graph.

Shapes: B texts, W windows, T tokens per window, N text tokens in all windows together.
"""

import functools

import numpy as np


class Layout:
    """The windows of some texts, as official: the last one ends with the text.

    Args:
        row_layout: the `RowLayout`.
        others: int array `[B]`, tokens in a window beside each text, less than
            `max_seq_length`.
        text_tokens: int array `[B]`; a text of none gets one window.
        max_seq_length: tokens of a window at most, all counted.
        doc_stride: tokens from the beginning of a window to the next one's, at
            least 1.

    Attributes:
        row_layout, text_tokens: the arguments.
        text: int64 `[W]`, whose window it is.
        index: int64 `[W]`, its number among the windows of its text.
        first: int64 `[W]`, the first token of the text in it.
        tokens: int64 `[W]`, the number of the text's tokens in it.
        before: int64 `[W]`, the number of tokens before the text.
        lengths: int64 `[W]`, all tokens of each window.
    """

    def __init__(self, row_layout, others, text_tokens, max_seq_length, doc_stride):
        self.row_layout, self.text_tokens = row_layout, text_tokens
        room = max_seq_length - others  # [B]
        step = np.minimum(room, doc_stride)
        left_over = np.maximum(text_tokens - room, 0)
        counts = 1 + -(-left_over // step)
        text = self.text = np.repeat(np.arange(len(counts)), counts)
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        self.index = np.arange(len(text)) - begins
        self.first = self.index * step[text]
        self.tokens = np.minimum(room[text], text_tokens[text] - self.first)
        # [SEP] stands behind the text, and where [CLS] is last everything.
        before = 0 * others if row_layout.cls_last else others - 1
        self.before = before[text].astype(np.int64)
        self.lengths = self.tokens + others[text]

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
