"""Windows inside a TensorFlow graph; the twin of `layout.py`, for serving.

B texts, W windows, T tokens of a window.
"""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class InGraphLayout:
    """The windows of a batch of texts, whatever their lengths.

    Attributes:
        text: int64 `[W]`, whose window it is.
        index: int64 `[W]`, its number among the windows of its text.
        tokens: int64 `[W]`, the number of the text's tokens in it.
        length: int64 `[W]`, all of its tokens.
        position: int64 `[1, T]`.
        within: int64 `[W, T]`, the token among the text's in the window; less than 0
            before them.
        is_text: bool `[W, T]`.
        place: int64 `[W, T]`, the token among all texts' tokens, where `is_text`.
        text_tokens: int64 `[]`, tokens of all texts.
    """

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
    def of(cls, before, ids, max_seq_length, doc_stride, min_tokens=1):
        """Lays windows out as `Layout.of`.

        Args:
            before: int64 `[B]`, tokens before each text.
            ids: ragged int32 `[B, (tokens)]`, the texts.
            max_seq_length, doc_stride: as of `Layout.of`.
            min_tokens: length to which windows are padded at least.
        """
        total = ids.row_lengths()
        room = max_seq_length - 1 - before
        step = tf.minimum(room, doc_stride)
        counts = 1 + (tf.maximum(total - room, 0) + step - 1) // step  # rounded up
        text = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)  # [W]
        index = tf.ragged.range(counts).values
        first = index * tf.gather(step, text)
        tokens = tf.minimum(tf.gather(room, text), tf.gather(total, text) - first)
        head = tf.gather(before, text)
        length = head + tokens + 1
        width = tf.maximum(tf.reduce_max(length, axis=0), min_tokens)
        position = tf.range(width)[None, :]  # [1, T]
        within = position - head[:, None]
        return cls(
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

    def pick(self, values, otherwise):
        """Picks `values` of the texts' tokens where they are, elsewhere `otherwise`.

        Args:
            values: `[tokens of all texts]`.
            otherwise: of that type, `[W, T]`.
        """
        return pick(values, self.place, self.is_text, otherwise)

    def features(self, input_ids, row_layout, pad_id):
        """Returns the model's inputs by official name, int32 `[W, T]`.

        Args:
            input_ids: int32 `[W, T]`; padding in it may be anything.
            row_layout: the `RowLayout` of the windows.
            pad_id: of padding.
        """
        real = self.position < self.length[:, None]
        is_second = real & (self.within >= 0)
        return {
            "input_ids": tf.where(real, input_ids, pad_id),
            "input_mask": tf.cast(real, tf.int32),
            "segment_ids": tf.cast(is_second, tf.int32) * row_layout.second_segment,
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
