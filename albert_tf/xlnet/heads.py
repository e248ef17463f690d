"""XLNet's fine-tuning models: the task heads on its content stream."""

from typing import Any

import keras
from keras import ops

from albert_tf.config import check_choice
from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.families.base import THEIR_ACTIVATIONS
from albert_tf.families.base import our_activation
from albert_tf.io.foreign import check_settings
from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.attention_mask import gather_positions
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import Dense
from albert_tf.layers.base import dropout
from albert_tf.layers.heads import AnswerBeamsHead
from albert_tf.models.base import PretrainedModel
from albert_tf.models.classification import ChoiceLogits
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features
from albert_tf.models.labels import TextLabels
from albert_tf.models.labels import TokenLabels
from albert_tf.models.question_answering import AnswersInBeams
from albert_tf.models.question_answering import AnswerSpans
from albert_tf.models.text_embedding import TextEmbedding
from albert_tf.xlnet.config import XLNetConfig
from albert_tf.xlnet.family import XLNET
from albert_tf.xlnet.layers import XLNetLayer
from albert_tf.xlnet.layers import XLNetNorm
from albert_tf.xlnet.model import READ
from albert_tf.xlnet.model import content_encoder
from albert_tf.xlnet.names import MASK_EMB

# The tokens that summarise a text, by Hugging Face's `summary_type`. "cls_index"
# without positions means the last token.
_SUMMARIES = {"last": "last", "first": "first", "mean": "mean", "cls_index": "last"}
_OFFICIAL_SUMMARY = {
    "summary_type": "last",
    "summary_projection": True,
    "summary_activation": "tanh",
}
_SUMMARY = head_variables.dense(
    "summary_dense", "model/sequnece_summary/summary", "sequence_summary.summary"
)


class FineTunedXLNet(PretrainedModel):
    """XLNet's content stream with a head.

    Args:
        config: an `XLNetConfig`. As in official fine-tuning, there is no memory and no
            row is reversed, whatever `mem_len`, `reuse_len` and `bi_data` are.
        **kwargs: how the model is computed, see `XLNetModel`.
    """

    family = XLNET
    features_read = READ
    # The official fine-tuning does not create it.
    unused_variables = (MASK_EMB,)

    def __init__(self, config: XLNetConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.transformer = content_encoder(
            config, dtype=self.dtype_policy, **self.execution
        )

    def _dense(self, units, name, dtype=None):
        spread = self.config.initializer_range
        return Dense(
            units,
            kernel_initializer=keras.initializers.RandomNormal(stddev=spread),
            dtype=dtype or self.dtype_policy,
            name=name,
        )

    def encoded(self, features, training, seed, heads_only=False):
        """Returns the outputs of the `XLNetModel`; refuses `target_positions`."""
        features = named_features(features, READ)
        if "target_positions" in features:
            raise UserError(
                f"{type(self).__name__} predicts no tokens; leave target_positions out."
            )
        return self.transformer(
            features, training=training, dropout_seed=seed, heads_only=heads_only
        )


class XLNetClassifier(FineTunedXLNet):
    """XLNet with a linear layer, after dropout, on a text's summary or on each token.

    The summary is a dense layer with tanh on the content stream at the last token,
    which is the classification token of rows padded on the left (official
    `summarize_sequence`). Hugging Face's models may have another summary.

    Args:
        config: an `XLNetConfig`.
        num_outputs: width of the linear layer.
        classifier_dropout_prob: dropout before the linear layer, in training.
        summary_type: the tokens that the summary reads, without padding: "last",
            "first" or "mean".
        summary_projection: whether the summary has the dense layer.
        summary_activation: replaces tanh, one of `ACTIVATION_FUNCTIONS`.
        **kwargs: how the model is computed, see `XLNetModel`.
    """

    # What is classified: the "summary", or the "sequence_output".
    classified = "summary"
    huggingface_arguments = {"classifier_dropout_prob": "summary_last_dropout"}

    def __init__(
        self,
        config,
        num_outputs,
        classifier_dropout_prob,
        summary_type="last",
        summary_projection=True,
        summary_activation="tanh",
        **kwargs,
    ):
        super().__init__(config, **kwargs)
        self.classifier_dropout_prob = classifier_dropout_prob
        check_choice("summary_type", summary_type, set(_SUMMARIES.values()))
        check_choice("summary_activation", summary_activation, ACTIVATION_FUNCTIONS)
        self.summary_type, self.summary_activation = summary_type, summary_activation
        self.summary_dense = None
        if self.classified == "summary" and summary_projection:
            self.summary_dense = self._dense(config.d_model, "summary_dense")
        self.classifier = self._dense(num_outputs, "classifier", "float32")
        self.build()

    def build(self, input_shape=None):
        if self.summary_dense is not None:
            self.summary_dense.build((None, self.config.d_model))
        self.classifier.build((None, self.config.d_model))

    def call(self, features, training=False, dropout_seed=None):
        return self.logits(features, training, dropout_seed)

    def logits(self, features, training, dropout_seed):
        """Computes logits of features `[rows, tokens]`.

        Returns:
            float32 `[rows, num_outputs]`; for a classifier of tokens `[rows, tokens,
            num_outputs]`.
        """
        seed = self._dropout_seed(training, dropout_seed)
        of_text = self.classified == "summary"
        heads_only = of_text and self.summary_type == "last"
        encoded = self.encoded(features, training, seed, heads_only)
        if heads_only:
            vectors = self.summarize(encoded["last_output"])
        else:
            vectors = encoded["sequence_output"]
            if of_text:
                mask = mask_of(named_features(features, READ))
                vectors = self.summarize(_of_tokens(vectors, mask, self.summary_type))
        vectors = dropout(vectors, self.classifier_dropout_prob, seed, CLASSIFIER_SITE)
        return ops.cast(self.classifier(vectors), "float32")

    def summarize(self, output):
        """Returns the summary `[batch, hidden]` of the pooled tokens' output."""
        if self.summary_dense is not None:
            output = self.summary_dense(output)
        return ACTIVATION_FUNCTIONS[self.summary_activation](output)

    def head_variables(self):
        has_summary = self.summary_dense is not None
        table = [own for own in self.head_table if has_summary or own not in _SUMMARY]
        return self._variables_of(table)

    def head_config(self):
        found = {"classifier_dropout_prob": self.classifier_dropout_prob}
        if self.classified == "summary":
            projected = self.summary_dense is not None
            found |= _unusual(self.summary_type, projected, self.summary_activation)
        return found

    def head_config_to_huggingface(self):
        summary = {
            "summary_type": self.summary_type,
            "summary_use_proj": self.summary_dense is not None,
            "summary_activation": THEIR_ACTIVATIONS[self.summary_activation],
        }
        summary = summary if self.classified == "summary" else {}
        return {**summary, **super().head_config_to_huggingface()}

    def require_official_head(self, form):
        super().require_official_head(form)
        unusual = self.head_config().keys() & _OFFICIAL_SUMMARY
        if form == "tf1" and unusual:
            raise UserError(
                f"The official XLNet has no other {' or '.join(sorted(unusual))} than "
                "its own; write a model directory, or for Hugging Face."
            )

    @classmethod
    def head_config_from_huggingface(cls, entries):
        found = super().head_config_from_huggingface(entries)
        if cls.classified != "summary":
            return found
        path = "config.json"
        check_settings(entries, path, entries, {"summary_type": tuple(_SUMMARIES)})
        activation = "linear"
        if entries.get("summary_activation", "tanh"):
            activation = our_activation(entries, "summary_activation", "tanh", path)
        summary = _SUMMARIES[entries.get("summary_type") or "last"]
        projected = bool(entries.get("summary_use_proj", True))
        return {**found, **_unusual(summary, projected, activation)}


def _unusual(*values):
    """Returns the summary arguments that differ from the official ones."""
    pairs = zip(_OFFICIAL_SUMMARY.items(), values, strict=True)
    return {name: value for (name, usual), value in pairs if value != usual}


def _of_tokens(output, mask, summary_type):
    """Returns the first token's output, or the mean of all: `[batch, hidden]`.

    Args:
        output: `[batch, tokens, hidden]`.
        mask: `[batch, tokens]`, 0 for padding.
        summary_type: "first" or "mean".
    """
    weights = ops.cast(mask, output.dtype)
    if summary_type == "first":
        weights = weights * ops.cast(ops.cumsum(mask, axis=1) == 1, output.dtype)
    weights = weights / ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1)
    return ops.sum(output * ops.expand_dims(weights, 2), axis=1)


def summary_variables(classifier):
    """Lists the head's variables; `classifier` is the linear layer's official scope."""
    return (
        *_SUMMARY,
        *head_variables.dense("classifier", classifier, "logits_proj"),
    )


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForSequenceClassification(TextLabels, XLNetClassifier):
    """XLNet with a classifier on its summary of a text.

    Official `classification_loss` and `regression_loss`.

    Args:
        num_labels, labels, label_kind, window_pooling: see
            `AlbertForSequenceClassification`.
        classifier_dropout_prob: dropout on the summary, in training.

    Call: as `XLNetModel`, without `target_positions`. Returns logits, float32 `[batch,
    num_labels]`.

    Raises:
        UserError: labels that do not fit each other.

    Example:
        model = XLNetForSequenceClassification.from_pretrained(path, num_labels=3)
        logits = model({"input_ids": ids, "input_mask": mask, "segment_ids": segments})
    """

    head_table = summary_variables("model/classification/logit")


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForTokenClassification(TokenLabels, XLNetClassifier):
    """XLNet with a linear classifier on each token of the content stream.

    Hugging Face's `XLNetForTokenClassification`; the official code has no such model.

    Args:
        num_labels, labels: see `AlbertForTokenClassification`.
        classifier_dropout_prob: dropout on the vectors of tokens, in training; Hugging
            Face's model has none.

    Call: as `XLNetModel`, without `target_positions`. Returns logits, float32 `[batch,
    tokens, num_labels]`, of all tokens, special ones and padding included.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`.
    """

    head_table = head_variables.dense(
        "classifier", "model/token_classification/logit", "classifier"
    )
    classified = "sequence_output"
    huggingface_arguments = {}


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForMultipleChoice(ChoiceLogits, XLNetClassifier):
    """XLNet with a score for each choice of a question.

    The model of RACE: official `get_race_loss`, `XLNetForMultipleChoice` of Hugging
    Face.

    Args:
        classifier_dropout_prob: dropout on the summary, in training.

    Call: as `AlbertForMultipleChoice`; each row ends with the classification token.

    Raises:
        UserError: features of another number of axes.
    """

    head_table = summary_variables("logits/dense")

    def __init__(
        self,
        config: XLNetConfig,
        classifier_dropout_prob: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, 1, classifier_dropout_prob, **kwargs)


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForQuestionAnsweringSimple(AnswerSpans, FineTunedXLNet):
    """XLNet with a score for each token as start and as end of the answer.

    The model of SQuAD 1.1; `XLNetForQuestionAnsweringSimple` of Hugging Face.

    Call: as `XLNetModel`, without `target_positions`. Returns a dict of `start_logits`
    and `end_logits`, float32 `[batch, tokens]`, for all tokens, including the question
    and padding.
    """

    head_table = head_variables.dense("span_head", "model/qa_outputs", "qa_outputs")

    def __init__(self, config: XLNetConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.span_head = self._dense(2, "span_head", "float32")
        self.build()


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetAnswerBeamsHead(XLNetLayer, AnswerBeamsHead):
    """An `AnswerBeamsHead` whose answer class reads the true start in training.

    Hugging Face's `XLNetForQuestionAnswering` does the same; the official code reads
    the expected start in training, too.
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
        start_n_top, end_n_top, head_dropout_prob: see `AlbertForAnswerableQuestions`.

    Call: as `AlbertForAnswerableQuestions`, in rows `text [SEP] question [SEP] [CLS]`,
    padded on either side. Without `p_mask`, an answer may begin and end in the first
    text, which is segment 0, and at the last token.
    """

    head_class = XLNetAnswerBeamsHead
    head_table = head_variables.answer_beams("answer_beams_head", in_huggingface=True)
    huggingface_arguments = {"start_n_top": "start_n_top", "end_n_top": "end_n_top"}

    def _no_answer_mask(self, input_mask, segment_ids):
        return no_answer_mask(input_mask, segment_ids)

    def _cls_positions(self, input_mask):
        """Finds the last token that is not padding: int32 `[batch, 1]`."""
        tokens = input_mask.shape[1] or ops.shape(input_mask)[1]
        real = ops.cast(input_mask, "int32") > 0
        places = ops.where(real, ops.arange(tokens, dtype="int32"), 0)
        return ops.max(places, axis=1, keepdims=True)


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
    # A token that no token of the text follows is the separator.
    may_answer = (in_text & _next(in_text)) | (real & ~_next(real))
    return 1.0 - ops.cast(may_answer, "float32")


def _next(marks):
    """Moves each token's mark to the token before it: bool `[batch, tokens]`."""
    return ops.pad(marks[:, 1:], [[0, 0], [0, 1]], constant_values=False)


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class XLNetForTextEmbedding(TextEmbedding):
    """XLNet with a vector for each text, which cosines compare.

    Args:
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        pooling, layer, normalize, encoder: see `AlbertForTextEmbedding`; "cls" is the
            last token, and there is no "pooler".
        prompts, default_prompt_name, include_prompt: see `AlbertForTextEmbedding`.

    Call: as `AlbertForTextEmbedding`.

    Example:
        model = XLNetForTextEmbedding.from_pretrained(path, pooling="cls")
        vectors = model(tokenizer(["a fine film", "a good film"]))
    """

    family = XLNET
    encoder_name = "XLNetModel"
    poolings = ("mean", "cls")
    _unread = (MASK_EMB,)

    def _make_encoder(self, execution):
        return content_encoder(self.config, dtype=self.dtype_policy, **execution)
