"""Questions and paragraphs as windows inside a TensorFlow graph.

The twin of `windows.py`, for serving: the same windows, whatever the texts' lengths.
B questions, W windows, T tokens of a window.
"""

import dataclasses

import tensorflow as tf

from albert_tf.tasks.question_answering.layout import SPECIAL
from albert_tf.tokenization.in_graph import InGraphTokenizer


@dataclasses.dataclass(frozen=True)
class InGraphWindows:
    """The windows of a batch of questions.

    Attributes:
        features: int32 `[W, T]`: input_ids, input_mask, segment_ids.
        question: int64 `[W]`, whose window it is.
        is_max_context: bool `[W, T]`, as in `Windows`.
        starts, ends: int32 `[W, T]`, the characters of the paragraph that a token stems
            from, 0 where there is no paragraph.
        is_paragraph: bool `[W, T]`.
    """

    features: dict
    question: tf.Tensor
    is_max_context: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    is_paragraph: tf.Tensor


class WindowFeatures(tf.Module):
    """Strings to windows.

    Args:
        tokenizer: an `InGraphTokenizer`.
        cls_id: id before the question.
        sep_id: id after the question and after the text.
        sizes: a `WindowSizes`.
        min_tokens: length to which windows are padded at least.

    Call: question and context, string `[batch]`, to `InGraphWindows`.
    """

    @classmethod
    def of(cls, tokenizer, sizes, min_tokens=1):
        """The windows that a tokenizer, of `albert_tf.load_tokenizer`, makes."""
        ids = tokenizer.cls_id, tokenizer.sep_id
        return cls(InGraphTokenizer(tokenizer), *ids, sizes, min_tokens)

    def __init__(self, tokenizer, cls_id, sep_id, sizes, min_tokens=1):
        super().__init__()
        self.tokenizer = tokenizer
        self.cls_id, self.sep_id = cls_id, sep_id
        self.sizes = sizes
        self.min_tokens = min_tokens

    def __call__(self, question, context):
        asked = self.tokenizer(question)  # [B, (tokens)]
        kept = tf.minimum(asked.row_lengths(), self.sizes.max_query_length)  # [B]
        ids, starts, ends = self.tokenizer.with_offsets(context)
        total = ids.row_lengths()
        room = self.sizes.max_seq_length - SPECIAL - kept
        step = tf.minimum(room, self.sizes.doc_stride)
        counts = 1 + (tf.maximum(total - room, 0) + step - 1) // step  # rounded up
        row = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)  # [W]
        index = tf.ragged.range(counts).values
        first = index * tf.gather(step, row)
        tokens = tf.minimum(tf.gather(room, row), tf.gather(total, row) - first)
        head = tf.gather(kept, row) + 2  # [CLS] question [SEP]
        length = head + tokens + 1
        width = tf.maximum(tf.reduce_max(length, axis=0), self.min_tokens)
        position = tf.range(width)[None, :]  # [1, T]
        in_question = (position > 0) & (position < head[:, None] - 1)  # [W, T]
        question_place = tf.gather(asked.row_starts(), row)[:, None] + position - 1
        within = position - head[:, None]
        is_paragraph = (within >= 0) & (within < tokens[:, None])
        place = within + (tf.gather(ids.row_starts(), row) + first)[:, None]
        input_ids = tf.where(position == 0, self.cls_id, self.sep_id)
        input_ids = _pick(asked.flat_values, question_place, in_question, input_ids)
        input_ids = _pick(ids.flat_values, place, is_paragraph, input_ids)
        real = position < length[:, None]
        nothing = tf.zeros_like(input_ids)
        return InGraphWindows(
            features={
                "input_ids": tf.where(real, input_ids, 0),
                "input_mask": tf.cast(real, tf.int32),
                "segment_ids": tf.cast(real & (within >= 0), tf.int32),
            },
            question=row,
            is_max_context=_max_context(
                is_paragraph, place, tokens, within, index, ids
            ),
            starts=_pick(starts.flat_values, place, is_paragraph, nothing),
            ends=_pick(ends.flat_values, place, is_paragraph, nothing),
            is_paragraph=is_paragraph,
        )


def _pick(values, places, wanted, otherwise):
    """`values` at `places` where `wanted`, elsewhere `otherwise`; all `[W, T]`."""
    # One more, so that there is something to pick from where no text has a token.
    values = tf.concat([values, [0]], axis=0)
    return tf.where(wanted, tf.gather(values, tf.where(wanted, places, 0)), otherwise)


def _max_context(is_paragraph, place, tokens, within, index, ids):
    """Which windows see a token best; see `Layout.max_context`.

    Args:
        is_paragraph: bool `[W, T]`.
        place: int64 `[W, T]`, the token among those of all paragraphs.
        tokens: int64 `[W]`, of the paragraph in the window.
        within: int64 `[W, T]`, the token among those.
        index: int64 `[W]`, number of the window.
        ids: ragged `[B, (tokens)]`, the paragraphs.
    """
    tokens = tokens[:, None]
    context = tf.minimum(within, tokens - 1 - within)
    score = tf.cast(context, tf.float64) + 0.01 * tf.cast(tokens, tf.float64)
    count = tf.size(ids.flat_values, tf.int64)
    flat = tf.where(is_paragraph)
    keys, scores = tf.gather_nd(place, flat), tf.gather_nd(score, flat)
    number = tf.gather(index, flat[:, 0])
    best = tf.math.unsorted_segment_max(scores, keys, count)
    is_best = scores == tf.gather(best, keys)
    number = tf.where(is_best, number, tf.int64.max)
    owner = tf.math.unsorted_segment_min(number, keys, count)
    mine = is_best & (number == tf.gather(owner, keys))
    return tf.scatter_nd(flat, tf.cast(mine, tf.int32), tf.shape(place, tf.int64)) > 0
