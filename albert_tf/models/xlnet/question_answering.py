"""Reading comprehension: where in a text the answer to a question begins and ends."""

from typing import Any

import keras
from keras import ops

from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.families.xlnet_config import XLNetConfig
from albert_tf.layers.heads import AnswerBeamsHead
from albert_tf.layers.view import gather_positions
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features
from albert_tf.models.question_answering import AnswersInBeams
from albert_tf.models.question_answering import span_logits
from albert_tf.models.xlnet.encoder import READ
from albert_tf.models.xlnet.fine_tuned import FineTunedXLNet
from albert_tf.models.xlnet.layers import XLNetLayer
from albert_tf.models.xlnet.layers import XLNetNorm


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForQuestionAnsweringSimple(FineTunedXLNet):
    """XLNet with a score for each token as start and as end of the answer.

    The model of SQuAD 1.1; `XLNetForQuestionAnsweringSimple` of Hugging Face.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `XLNetModel`, without `target_positions`. Returns a dict of `start_logits`
    and `end_logits`, float32 `[batch, tokens]`, of all tokens, the question's and
    padding included.

    Raises:
        UserError: as `XLNetModel`.
    """

    head_table = head_variables.dense("span_head", "model/qa_outputs", "qa_outputs")

    def __init__(self, config: XLNetConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.span_head = self._dense(2, "span_head", "float32")
        self.build()

    def build(self, input_shape=None):
        self.span_head.build((None, None, self.config.d_model))

    def call(self, features, training=False, dropout_seed=None):
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.encoded(features, training, seed)
        return span_logits(self.span_head(encoded["sequence_output"]))


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetAnswerBeamsHead(XLNetLayer, AnswerBeamsHead):
    """As `AnswerBeamsHead`, but in training the answer class reads the true start.

    So does Hugging Face's `XLNetForQuestionAnswering`; the official code reads the
    expected start there, too.
    """

    norm_class = XLNetNorm

    def _start_of_class(self, hidden, start_logits, start_positions):
        if start_positions is None:
            return super()._start_of_class(hidden, start_logits, None)
        return gather_positions(hidden, start_positions[:, None])[:, 0]


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForQuestionAnswering(AnswersInBeams, FineTunedXLNet):
    """XLNet with a head that also says whether the text answers the question.

    The model of SQuAD 2.0: official `get_qa_outputs`, `XLNetForQuestionAnswering` of
    Hugging Face.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        start_n_top, end_n_top, head_dropout_prob: as of `AlbertForAnswerableQuestions`.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `AlbertForAnswerableQuestions`, in rows `text [SEP] question [SEP] [CLS]`,
    padded on either side: without `p_mask`, an answer may begin and end in the first
    text, of segment 0, and at the last token.

    Raises:
        UserError: as `AlbertForAnswerableQuestions`.
    """

    head_class = XLNetAnswerBeamsHead
    head_table = head_variables.answer_beams("answer_beams_head", in_huggingface=True)
    huggingface_arguments = {"start_n_top": "start_n_top", "end_n_top": "end_n_top"}

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features, READ)
        seed = self._dropout_seed(training, dropout_seed)
        input_mask = mask_of(features)
        p_mask = self._p_mask(features, input_mask, no_answer_mask)
        encoded = self.encoded(features, training, seed)
        return self.answer_beams_head(
            encoded["sequence_output"],
            p_mask,
            start_positions=features.get("start_positions"),
            cls_positions=_last_tokens(input_mask),
            dropout_seed=seed,
        )


def no_answer_mask(input_mask, segment_ids):
    """Marks where no answer may lie, in rows `text [SEP] question [SEP] [CLS]`.

    Args:
        input_mask: int `[batch, tokens]`, 0 for padding, on either side.
        segment_ids: int `[batch, tokens]`, 0 for the text and its separator.

    Returns:
        float32 `[batch, tokens]`, 0 for the text and for the last token, which stands
        for "no answer", otherwise 1. The official `p_mask`.
    """
    real = ops.cast(input_mask, "int32") > 0
    in_text = real & (ops.cast(segment_ids, "int32") == 0)
    # What no token of the text follows is its separator.
    may_answer = (in_text & _next(in_text)) | (real & ~_next(real))
    return 1.0 - ops.cast(may_answer, "float32")


def _next(marks):
    """Returns bool `[batch, tokens]`: the mark of the token after each."""
    return ops.pad(marks[:, 1:], [[0, 0], [0, 1]], constant_values=False)


def _last_tokens(input_mask):
    """Finds the last token that is no padding: int32 `[batch, 1]`."""
    places = ops.arange(input_mask.shape[1] or ops.shape(input_mask)[1], dtype="int32")
    real = ops.cast(input_mask, "int32") > 0
    return ops.max(ops.where(real, places, 0), axis=1, keepdims=True)
