"""Cuts long texts into windows inside a graph, as `tasks.windows` does, for serving.

B texts, W windows, T tokens of a window.
"""

import tensorflow as tf

from albert_tf.tokenization.in_graph.features import RowsOfTexts
from albert_tf.tokenization.in_graph.features import features_of
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer


class InGraphLayout:
    """The windows of a batch of texts of any length; see `tasks.windows.Layout`.

    Args:
        row_layout: the `RowLayout` of the windows.
        others: int64 `[B]`, the tokens of a window that are not the text's.
        ids: ragged int32 `[B, (tokens)]`, the texts.
        max_length: tokens of a window at most, all counted.
        doc_stride: tokens between the beginnings of two windows of a text.
        min_tokens: length to which windows are padded at least.

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
        begins: int64 `[W]`, its first token of the text among all texts' tokens.
        place: int64 `[W, T]`, the token among all texts' tokens, where `is_text`.
        text_tokens: int64 `[]`, tokens of all texts.
    """

    def __init__(self, row_layout, others, ids, max_length, doc_stride, min_tokens=1):
        self.row_layout = row_layout
        total, self.text_tokens = ids.row_lengths(), tf.size(ids.flat_values, tf.int64)
        room = max_length - others
        step = tf.minimum(room, doc_stride)
        counts = 1 + (tf.maximum(total - room, 0) + step - 1) // step  # rounded up
        text = self.text = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)
        self.index = tf.ragged.range(counts).values
        first = self.index * tf.gather(step, text)
        self.tokens = tf.minimum(tf.gather(room, text), tf.gather(total, text) - first)
        self.length = self.tokens + tf.gather(others, text)
        before = tf.gather(0 * others if row_layout.cls_last else others - 1, text)
        width = tf.maximum(tf.reduce_max(self.length, axis=0), min_tokens)
        self.position = tf.range(width)[None, :]
        self.within = self.position - before[:, None]
        self.is_text = (self.within >= 0) & (self.within < self.tokens[:, None])
        self.begins = tf.gather(ids.row_starts(), text) + first
        self.place = self.within + self.begins[:, None]

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
        sizes = self.length[:, None], first_lengths[:, None]
        return features_of(input_ids, self.position, *sizes, self.row_layout, pad_id)

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


class TextWindows(RowsOfTexts):
    """Maps texts to the features of their windows, for tasks on whole texts.

    Args:
        tokenizer: a `Tokenizer`.
        max_length: the maximal number of tokens in a window, including special ones.
        doc_stride: see `InGraphLayout`.
    """

    def __init__(self, tokenizer, max_length, doc_stride):
        super().__init__(tokenizer)
        self.tokenizer = InGraphTokenizer(tokenizer)
        self._max_length, self._doc_stride = max_length, doc_stride

    def __call__(self, text):
        """Returns the features, int32 `[W, T]` by name, of texts, string `[B]`."""
        return self.windows(text)[0]

    def windows(self, text):
        """Returns the features, and whose windows they are, int64 `[W]`."""
        ids = self.tokenizer(text)
        others = self.layout.special(False) + tf.zeros_like(ids.row_lengths())
        cut = InGraphLayout(
            self.layout, others, ids, self._max_length, self._doc_stride
        )
        places = tf.ragged.range(cut.begins, cut.begins + cut.tokens)
        return self.rows(tf.gather(ids.flat_values, places)), cut.text


def pick(values, places, wanted, otherwise):
    """Picks `values` at `places` where `wanted`, else `otherwise`; all `[W, T]`."""
    # One more, so that there is something to pick from where no text has a token.
    values = tf.concat([values, [0]], axis=0)
    return tf.where(wanted, tf.gather(values, tf.where(wanted, places, 0)), otherwise)


def pooled_windows(outputs, owners, texts, pooling):
    """Pools the outputs of windows inside a graph, as `over_windows` does in models.

    Args:
        outputs: float32 `[windows, outputs]`.
        owners: int64 `[windows]`, the number of each window's text.
        texts: int64 `[]`, the number of texts.
        pooling: one of `WINDOW_POOLINGS`.

    Returns:
        float32 `[texts, outputs]`.
    """
    name = f"unsorted_segment_{pooling}"
    return getattr(tf.math, name)(outputs, owners, texts)
