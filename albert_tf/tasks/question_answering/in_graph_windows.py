"""Questions and paragraphs as windows inside a TensorFlow graph.

The twin of `windows.py`, for serving: the same windows, whatever the texts' lengths.
B questions, W windows, T tokens of a window.
"""

import dataclasses

import tensorflow as tf

from albert_tf.tasks.windows.in_graph import InGraphLayout
from albert_tf.tasks.windows.in_graph import pick
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer


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
        tokenizer: of `albert_tf.load_tokenizer`.
        sizes: a `WindowSizes`.
        min_tokens: length to which windows are padded at least.

    Call: question and context, string `[batch]`, to `InGraphWindows`.
    """

    @classmethod
    def of(cls, tokenizer, sizes, min_tokens=1):
        """Makes the windows of a tokenizer of `albert_tf.load_tokenizer`."""
        return cls(tokenizer, sizes, min_tokens)

    def __init__(self, tokenizer, sizes, min_tokens=1):
        super().__init__()
        self.tokenizer = InGraphTokenizer(tokenizer, max(sizes.max_query_length, 1))
        self.cls_id, self.sep_id = tokenizer.cls_id, tokenizer.sep_id
        self.layout, self.pad_id = tokenizer.layout, tokenizer.pad_id
        self.sizes = sizes
        self.min_tokens = min_tokens

    def __call__(self, question, context):
        asked = self.tokenizer(question)  # [B, (tokens)]
        kept = tf.minimum(asked.row_lengths(), self.sizes.max_query_length)  # [B]
        ids, starts, ends = self.tokenizer.with_offsets(context)
        layout = InGraphLayout.of(
            kept + self.layout.special(True) - 1,
            ids,
            self.sizes.max_seq_length,
            self.sizes.doc_stride,
            self.min_tokens,
        )
        position = layout.position
        in_question = (position > 0) & (layout.within < -self.layout.between)  # [W, T]
        begins = tf.gather(asked.row_starts(), layout.text)[:, None]
        input_ids = tf.where(position == 0, self.cls_id, self.sep_id)
        input_ids = pick(
            asked.flat_values, begins + position - 1, in_question, input_ids
        )
        input_ids = layout.pick(ids.flat_values, input_ids)
        nothing = tf.zeros_like(input_ids)
        return InGraphWindows(
            features=layout.features(input_ids, self.layout, self.pad_id),
            question=layout.text,
            is_max_context=layout.max_context(),
            starts=layout.pick(starts.flat_values, nothing),
            ends=layout.pick(ends.flat_values, nothing),
            is_paragraph=layout.is_text,
        )
