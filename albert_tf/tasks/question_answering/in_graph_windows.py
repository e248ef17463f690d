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
        cls_positions: int64 `[W]`, of the token that stands for no answer.
    """

    features: dict
    question: tf.Tensor
    is_max_context: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    is_paragraph: tf.Tensor
    cls_positions: tf.Tensor


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
        self.layout, self.pad_id = tokenizer.layout.padded_after, tokenizer.pad_id
        self.sizes = sizes
        self.min_tokens = min_tokens

    def __call__(self, question, context):
        asked = self.tokenizer(question)  # [B, (tokens)]
        kept = tf.minimum(asked.row_lengths(), self.sizes.max_query_length)  # [B]
        ids, starts, ends = self.tokenizer.with_offsets(context)
        layout = InGraphLayout.of(
            self.layout,
            kept + self.layout.special(True),
            ids,
            self.sizes.max_seq_length,
            self.sizes.doc_stride,
            self.min_tokens,
        )
        kept = tf.gather(kept, layout.text)
        between = self.layout.between
        if self.layout.cls_last:
            first_lengths = layout.tokens + between  # before the question
            place = layout.position - first_lengths[:, None]
        else:
            first_lengths = 1 + kept + between  # before the text
            place = layout.position - 1
        in_question = (place >= 0) & (place < kept[:, None])  # [W, T]
        begins = tf.gather(asked.row_starts(), layout.text)[:, None]
        input_ids = pick(
            asked.flat_values,
            begins + place,
            in_question,
            layout.special_ids(self.cls_id, self.sep_id),
        )
        input_ids = layout.pick(ids.flat_values, input_ids)
        nothing = tf.zeros_like(input_ids)
        return InGraphWindows(
            features=layout.features(input_ids, first_lengths, self.pad_id),
            question=layout.text,
            is_max_context=layout.max_context(),
            starts=layout.pick(starts.flat_values, nothing),
            ends=layout.pick(ends.flat_values, nothing),
            is_paragraph=layout.is_text,
            cls_positions=layout.cls_positions,
        )
