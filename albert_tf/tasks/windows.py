"""Texts that are longer than a row, read through windows that overlap.

A window is a row of a `RowLayout`: `[CLS] question [SEP] text [SEP]` or, where [CLS] is
last, `text [SEP] question [SEP] [CLS]`; without question, where only a text is read.
`Layout` finds beginnings and ends, and the best window of each token; `InGraphLayout`,
its twin for serving, does so inside a TensorFlow graph.

B texts, W windows, T tokens of a window, N tokens of texts in windows, one after the
other.
"""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from albert_tf.row_layout import RowLayout
from albert_tf.tokenization.in_graph.features import is_token
from albert_tf.tokenization.in_graph.features import segments


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
        text_tokens: int64 `[B]`, of each text.
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
            others: int array `[B]`, tokens in a window beside each text, less than
                `max_seq_length`.
            text_tokens: int array `[B]`; a text of none gets one window.
            max_seq_length: tokens of a window at most, all counted.
            doc_stride: tokens from the beginning of a window to the next one's, at
                least 1.
        """
        room = max_seq_length - others  # [B]
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

    @functools.cached_property
    def rows(self):
        """int64 `[tokens of all windows]`, the window of each token."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @functools.cached_property
    def positions(self):
        """int64 `[tokens of all windows]`, the place of each token in its window."""
        return np.arange(len(self.rows)) - self.starts[self.rows]

    @property
    def first_lengths(self):
        """int64 `[W]`, tokens before the second of question and text."""
        layout = self.row_layout
        return self.tokens + layout.between if layout.cls_last else self.before

    def of_questions(self, kept):
        """Finds tokens of questions; the results are as `in_texts`.

        Args:
            kept: int array `[B]`, tokens of each text's question.
        """
        before = self.first_lengths[self.rows] if self.row_layout.cls_last else 1
        return self._within(before, kept[self.text[self.rows]])

    @functools.cached_property
    def in_texts(self):
        """Tokens of texts, int64 `[N]` each.

        They are the place among the tokens of all windows, the text, and the number in
        it.
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
        """Marks tokens of texts of which no other window gives more context.

        The context of a token is the lesser number of tokens left and right of it,
        and a hundredth of the window's length; of equal windows the first is best.

        Returns:
            bool `[tokens of all windows]`.
        """
        places, text, number = self.in_texts
        rows = self.rows[places]
        from_left = number - self.first[rows]
        from_right = self.tokens[rows] - 1 - from_left
        score = np.minimum(from_left, from_right) + 0.01 * self.tokens[rows]
        key = (np.cumsum(self.text_tokens) - self.text_tokens)[text] + number
        best = np.full(int(self.text_tokens.sum()), -1.0)
        owner = np.zeros(len(best), np.int64)
        index = self.index[rows]
        for window in range(int(index.max(initial=-1)) + 1):
            here = np.flatnonzero(index == window)
            here = here[score[here] > best[key[here]]]
            best[key[here]] = score[here]
            owner[key[here]] = window
        found = np.zeros(len(self.rows), np.bool_)
        found[places] = owner[key] == index
        return found


@dataclasses.dataclass(frozen=True)
class InGraphLayout:
    """The windows of a batch of texts, whatever their lengths; the twin of `Layout`.

    Attributes:
        row_layout: the `RowLayout` of the windows.
        text: int64 `[W]`, whose window it is.
        index: int64 `[W]`, its number among the windows of its text.
        tokens: int64 `[W]`, the number of the text's tokens in it.
        length: int64 `[W]`, all of its tokens.
        position: int64 `[1, T]`.
        within: int64 `[W, T]`, the token among the text's in the window; before them
            and behind them, too.
        is_text: bool `[W, T]`.
        place: int64 `[W, T]`, the token among all texts' tokens, where `is_text`.
        text_tokens: int64 `[]`, tokens of all texts.
    """

    row_layout: RowLayout
    text: tf.Tensor
    index: tf.Tensor
    tokens: tf.Tensor
    length: tf.Tensor
    position: tf.Tensor
    within: tf.Tensor
    is_text: tf.Tensor
    place: tf.Tensor
    text_tokens: tf.Tensor

    @classmethod
    def of(cls, row_layout, others, ids, max_seq_length, doc_stride, min_tokens=1):
        """Lays windows out as `Layout.of`.

        Args:
            row_layout, others: as of `Layout.of`, the latter int64 `[B]`.
            ids: ragged int32 `[B, (tokens)]`, the texts.
            max_seq_length, doc_stride: as of `Layout.of`.
            min_tokens: length to which windows are padded at least.
        """
        total = ids.row_lengths()
        room = max_seq_length - others
        step = tf.minimum(room, doc_stride)
        counts = 1 + (tf.maximum(total - room, 0) + step - 1) // step  # rounded up
        text = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)  # [W]
        index = tf.ragged.range(counts).values
        first = index * tf.gather(step, text)
        tokens = tf.minimum(tf.gather(room, text), tf.gather(total, text) - first)
        length = tokens + tf.gather(others, text)
        before = tf.gather(0 * others if row_layout.cls_last else others - 1, text)
        width = tf.maximum(tf.reduce_max(length, axis=0), min_tokens)
        position = tf.range(width)[None, :]  # [1, T]
        within = position - before[:, None]
        return cls(
            row_layout=row_layout,
            text=text,
            index=index,
            tokens=tokens,
            length=length,
            position=position,
            within=within,
            is_text=(within >= 0) & (within < tokens[:, None]),
            place=within + (tf.gather(ids.row_starts(), text) + first)[:, None],
            text_tokens=tf.size(ids.flat_values, tf.int64),
        )

    @property
    def cls_positions(self):
        """int64 `[W]`, where [CLS] stands in each window."""
        return self.length - 1 if self.row_layout.cls_last else 0 * self.length

    def pick(self, values, otherwise):
        """Picks `values` of the texts' tokens where they are, elsewhere `otherwise`.

        Args:
            values: `[tokens of all texts]`.
            otherwise: of that type, `[W, T]`.
        """
        return pick(values, self.place, self.is_text, otherwise)

    def special_ids(self, cls_id, sep_id):
        """Returns int32 `[W, T]`; see `Layout.special_ids`."""
        is_cls = self.position == self.cls_positions[:, None]
        return tf.where(is_cls, cls_id, sep_id)

    def features(self, input_ids, first_lengths, pad_id):
        """Returns the model's inputs by official name, int32 `[W, T]`.

        Args:
            input_ids: int32 `[W, T]`; padding in it may be anything.
            first_lengths: int64 `[W]`, tokens before the second text.
            pad_id: of padding.
        """
        length = self.length[:, None]
        real = is_token(self.position, length)
        return {
            "input_ids": tf.where(real, input_ids, pad_id),
            "input_mask": tf.cast(real, tf.int32),
            "segment_ids": segments(
                self.position, length, first_lengths[:, None], self.row_layout
            ),
        }

    def max_context(self):
        """Marks the best windows of tokens, bool `[W, T]`; see `Layout.max_context`."""
        tokens = self.tokens[:, None]
        context = tf.minimum(self.within, tokens - 1 - self.within)
        score = tf.cast(context, tf.float64) + 0.01 * tf.cast(tokens, tf.float64)
        count = self.text_tokens
        flat = tf.where(self.is_text)
        keys, scores = tf.gather_nd(self.place, flat), tf.gather_nd(score, flat)
        number = tf.gather(self.index, flat[:, 0])
        best = tf.math.unsorted_segment_max(scores, keys, count)
        is_best = scores == tf.gather(best, keys)
        number = tf.where(is_best, number, tf.int64.max)
        owner = tf.math.unsorted_segment_min(number, keys, count)
        mine = is_best & (number == tf.gather(owner, keys))
        shape = tf.shape(self.place, tf.int64)
        return tf.scatter_nd(flat, tf.cast(mine, tf.int32), shape) > 0


def pick(values, places, wanted, otherwise):
    """Picks `values` at `places` where `wanted`, else `otherwise`; all `[W, T]`."""
    # One more, so that there is something to pick from where no text has a token.
    values = tf.concat([values, [0]], axis=0)
    return tf.where(wanted, tf.gather(values, tf.where(wanted, places, 0)), otherwise)
