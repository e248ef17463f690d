"""XLNet's models for tasks: classification of texts and tokens, multiple choice."""

from typing import Any

import keras
from keras import ops

from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.families.base import require_entries
from albert_tf.families.xlnet import XLNET
from albert_tf.families.xlnet_config import XLNetConfig
from albert_tf.families.xlnet_names import MASK_EMB
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import Dense
from albert_tf.layers.base import dropout
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import named_features
from albert_tf.models.labels import TextLabels
from albert_tf.models.labels import TokenLabels
from albert_tf.models.multiple_choice import ChoiceLogits
from albert_tf.models.xlnet.encoder import READ
from albert_tf.models.xlnet.encoder import content_encoder

# How their model sums a text up, and what they call that.
_REQUIRED = {
    "summary_type": "last",
    "summary_use_proj": True,
    "summary_activation": "tanh",
}
_SUMMARY = head_variables.dense(
    "summary_dense", "model/sequnece_summary/summary", "sequence_summary.summary"
)


class FineTunedXLNet(PretrainedModel):
    """XLNet's content stream below a head.

    Args:
        config: an `XLNetConfig`. As in the official fine-tuning there is no memory, and
            no row is reversed, whatever it says of `mem_len`, `reuse_len` and
            `bi_data`.
        **kwargs: how the model is computed, see `XLNetModel`.
    """

    family = XLNET
    # The official code has none in fine-tuning.
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
        """Returns the outputs of the `XLNetModel` for features as of a call.

        Raises:
            UserError: `target_positions` are among them.
        """
        features = named_features(features, READ)
        if "target_positions" in features:
            raise UserError(
                f"{type(self).__name__} predicts no tokens; leave target_positions out."
            )
        return self.transformer(
            features, training=training, dropout_seed=seed, heads_only=heads_only
        )


class XLNetClassifier(FineTunedXLNet):
    """XLNet, dropout on its summary of a text or on each token, and a linear layer.

    The summary is the content stream at the last token, the classification token of
    rows that are padded on the left, through a dense layer with tanh. Official
    `summarize_sequence`.

    Args:
        config: an `XLNetConfig`.
        num_outputs: width of the linear layer.
        classifier_dropout_prob: dropout before it, in training.
        **kwargs: how the model is computed, see `XLNetModel`.
    """

    # What is classified: the "summary", or the "sequence_output".
    classified = "summary"
    huggingface_arguments = {"classifier_dropout_prob": "summary_last_dropout"}

    def __init__(self, config, num_outputs, classifier_dropout_prob, **kwargs):
        super().__init__(config, **kwargs)
        self.classifier_dropout_prob = classifier_dropout_prob
        self.summary_dense = None
        if self.classified == "summary":
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
        """Computes logits of `[rows, tokens]`.

        Returns:
            float32 `[rows, num_outputs]`, or of each token `[rows, tokens,
            num_outputs]`.
        """
        seed = self._dropout_seed(training, dropout_seed)
        heads_only = self.summary_dense is not None
        encoded = self.encoded(features, training, seed, heads_only)
        if heads_only:
            vectors = self.summarize(encoded["last_output"])
        else:
            vectors = encoded["sequence_output"]
        vectors = dropout(vectors, self.classifier_dropout_prob, seed, CLASSIFIER_SITE)
        return ops.cast(self.classifier(vectors), "float32")

    def summarize(self, last_output):
        """Returns the summary `[batch, hidden]` of the output at the last tokens."""
        return ops.tanh(self.summary_dense(last_output))

    def head_config(self):
        return {"classifier_dropout_prob": self.classifier_dropout_prob}

    def head_config_to_huggingface(self):
        required = {} if self.summary_dense is None else _REQUIRED
        return {**required, **super().head_config_to_huggingface()}

    @classmethod
    def head_config_from_huggingface(cls, entries):
        if cls.classified == "summary":
            require_entries(entries, _REQUIRED, "config.json")
        return super().head_config_from_huggingface(entries)


def summary_variables(classifier):
    """Lists the head's variables, the classifier's by its official scope."""
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
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        num_labels, labels, label_kind: as of `AlbertForSequenceClassification`.
        classifier_dropout_prob: dropout on the summary, in training.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `XLNetModel`, without `target_positions`. Returns logits, float32 `[batch,
    num_labels]`.

    Raises:
        UserError: labels that do not fit each other, or as `XLNetModel`.

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
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        num_labels, labels: as of `AlbertForTokenClassification`.
        classifier_dropout_prob: dropout on the vectors of tokens, in training; Hugging
            Face's model has none.
        **kwargs: how the model is computed, see `XLNetModel`.

    Call: as `XLNetModel`, without `target_positions`. Returns logits, float32 `[batch,
    tokens, num_labels]`, of all tokens, special ones and padding included.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or as
            `XLNetModel`.
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
        config: an `XLNetConfig`; see `FineTunedXLNet`.
        classifier_dropout_prob: dropout on the summary, in training.
        **kwargs: how the model is computed, see `XLNetModel`.

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
