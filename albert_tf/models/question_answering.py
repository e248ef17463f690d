"""Reading comprehension: where in a text the answer to a question begins and ends."""

from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.layers.heads import AnswerBeamsHead
from albert_tf.layers.heads import ClassificationHead
from albert_tf.models.albert import AlbertWithHead
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features


class AnswerSpans:
    """A mixin for a model with a `span_head` of two outputs for each token."""

    purpose = "squad_v1"

    def build(self, input_shape=None):
        self.span_head.build((None, None, self.config.hidden_size))

    def call(self, features, training=False, dropout_seed=None):
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.encoded(features, training, seed)
        logits = ops.cast(self.span_head(encoded["sequence_output"]), "float32")
        return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForQuestionAnswering(AnswerSpans, AlbertWithHead):
    """The encoder with a score for each token as start and as end of the answer.

    The model of SQuAD 1.1: official `create_v1_model`, `AlbertForQuestionAnswering` of
    Hugging Face.

    Call: as `AlbertModel`. Returns a dict of `start_logits` and `end_logits`, float32
    `[batch, tokens]`, for all tokens, including the question and padding.

    Example:
        model = AlbertForQuestionAnswering.from_pretrained(path)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(
            optimizer="adam",
            loss={"start_logits": loss, "end_logits": loss},
            loss_weights={"start_logits": 0.5, "end_logits": 0.5},
        )
    """

    reads_pooler = False
    classifies_tokens = True
    head_table = head_variables.classification("span_head", "qa_outputs", "cls/squad/")

    def __init__(self, config: AlbertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.span_head = ClassificationHead(
            config, num_labels=2, dtype=self.dtype_policy, name="span_head"
        )
        self.build()


class AnswersInBeams:
    """A mixin for a model with an `AnswerBeamsHead`, its `head_class`."""

    purpose = "squad_v2"
    head_class = AnswerBeamsHead

    def __init__(
        self,
        config: Any,
        start_n_top: int = 5,
        end_n_top: int = 5,
        head_dropout_prob: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, **kwargs)
        for name, value in (("start_n_top", start_n_top), ("end_n_top", end_n_top)):
            if value < 1:
                raise UserError(f"{name} must be at least 1, got {value}.")
        self.answer_beams_head = self.head_class(
            config,
            start_n_top=start_n_top,
            end_n_top=end_n_top,
            dropout_prob=head_dropout_prob,
            dtype=self.dtype_policy,
            name="answer_beams_head",
        )
        self.build()

    def build(self, input_shape=None):
        self.answer_beams_head.build((None, None, self.config.hidden_size))

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features, self.features_read)
        seed = self._dropout_seed(training, dropout_seed)
        input_mask = mask_of(features)
        p_mask = features.get("p_mask")
        if p_mask is None:
            segment_ids = self._segments(features, input_mask)
            p_mask = self._no_answer_mask(input_mask, segment_ids)
        encoded = self.encoded(features, training, seed)
        return self.answer_beams_head(
            encoded["sequence_output"],
            p_mask,
            start_positions=features.get("start_positions"),
            cls_positions=self._cls_positions(input_mask),
            dropout_seed=seed,
        )

    def _segments(self, features, input_mask):
        if "segment_ids" not in features:
            raise UserError(
                f"{type(self).__name__} needs p_mask or segment_ids, which tell it "
                "where answers may be."
            )
        return features["segment_ids"]

    def _cls_positions(self, input_mask):
        """Returns int32 `[batch, 1]`; None for the first token."""
        return

    def head_config(self):
        return {
            "start_n_top": self.answer_beams_head.start_n_top,
            "end_n_top": self.answer_beams_head.end_n_top,
            "head_dropout_prob": self.answer_beams_head.dropout_prob,
        }


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForAnswerableQuestions(AnswersInBeams, AlbertWithHead):
    """The encoder with a head that also says whether the text answers the question.

    The model of SQuAD 2.0, official `create_v2_model`.

    Args:
        start_n_top: how many starts inference keeps.
        end_n_top: how many ends inference keeps for each start.
        head_dropout_prob: dropout in the answer class, in training.

    Call: as `AlbertModel`, with two more features, both optional: `p_mask` `[batch,
    tokens]`, 1 where no answer may begin or end (by default everywhere except the first
    token and between the last two separators), and in training `start_positions`, int32
    `[batch]`. Returns the outputs of `AnswerBeamsHead`.

    Raises:
        UserError: `start_n_top` or `end_n_top` is not positive, or neither `p_mask` nor
            `segment_ids` is given.
    """

    head_table = head_variables.answer_beams("answer_beams_head")
    reads_pooler = False

    def _no_answer_mask(self, input_mask, segment_ids):
        return no_answer_mask(input_mask, segment_ids)

    def _segments(self, features, input_mask):
        layout = self.config.row_layout
        if not layout.second_segment:
            return second_text(features["input_ids"], input_mask, layout.between)
        return super()._segments(features, input_mask)


def second_text(input_ids, input_mask, between):
    """Marks the tokens of the second text in rows such as `<s> A </s></s> B </s>`.

    Args:
        input_ids, input_mask: int `[batch, tokens]`, padded after the tokens.
        between: the number of separators between both texts, 1 or 2.

    Returns:
        int32 `[batch, tokens]`, 1 for B and its separator, like segment ids.
    """
    # The last token of a row is the separator.
    last = ops.sum(ops.cast(input_mask, "int32"), axis=1, keepdims=True) - 1
    separator = ops.take_along_axis(input_ids, ops.maximum(last, 0), axis=1)
    is_separator = ops.cast(ops.equal(input_ids, separator), "int32")
    if between == 2:
        is_separator = is_separator[:, 1:] * is_separator[:, :-1]  # [B, T - 1]
    begun = ops.pad(is_separator, [[0, 0], [between, 0]])
    begun = ops.cumsum(begun[:, : ops.shape(input_ids)[1]], axis=1)
    return ops.cast(begun > 0, "int32") * ops.cast(input_mask, "int32")


def no_answer_mask(input_mask, segment_ids):
    """Marks where no answer may lie, in rows `[CLS] question [SEP] text [SEP]`.

    Args:
        input_mask: int `[batch, tokens]`, 0 for padding.
        segment_ids: int `[batch, tokens]`, 1 for the text and its separator.

    Returns:
        float32 `[batch, tokens]`, 0 for the first token, which stands for "no answer",
        and for the text, otherwise 1. The official `p_mask`.
    """
    input_mask = ops.cast(input_mask, "float32")
    # A token before a real token is not the last separator.
    followed = ops.pad(input_mask[:, 1:], [[0, 0], [0, 1]])
    may_answer = ops.cast(segment_ids, "float32") * followed
    first = ops.ones_like(may_answer[:, :1])
    return 1 - ops.concatenate([first, may_answer[:, 1:]], axis=1)
