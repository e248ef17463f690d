"""Classification (or regression) of a text or a pair of texts."""

import dataclasses

import keras
from keras import ops

from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families.base import require_entries
from albert_tf.families.xlnet import XLNET
from albert_tf.families.xlnet_names import MASK_EMB
from albert_tf.layers.dropout import CLASSIFIER_SITE
from albert_tf.layers.dropout import dropout
from albert_tf.models.base import PretrainedModel
from albert_tf.models.features import named_features
from albert_tf.models.text_labels import TextLabels
from albert_tf.models.text_labels import checked_text_labels
from albert_tf.models.xlnet.encoder import READ
from albert_tf.models.xlnet.encoder import XLNetModel

# How their model sums a text up, and what they call that.
_REQUIRED = {
    "summary_type": "last",
    "summary_use_proj": True,
    "summary_activation": "tanh",
}
_HUGGINGFACE_DROPOUT = "summary_last_dropout"


@keras.saving.register_keras_serializable(package="albert_tf")
class XLNetForSequenceClassification(TextLabels, PretrainedModel):
    """XLNet with a classifier on its summary of a text.

    The summary is the content stream at the last token, the classification token of
    rows that are padded on the left, through a dense layer with tanh. Official
    `summarize_sequence` and `classification_loss`.

    Args:
        config: an `XLNetConfig`. As in the official fine-tuning there is no memory, and
            no row is reversed, whatever it says of `mem_len`, `reuse_len` and
            `bi_data`.
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

    family = XLNET
    head_table = (
        *head_variables.dense(
            "summary_dense",
            "model/sequnece_summary/summary",
            "sequence_summary.summary",
        ),
        *head_variables.dense(
            "classifier", "model/classification/logit", "logits_proj"
        ),
    )
    # The official code has none in fine-tuning.
    unused_variables = (MASK_EMB,)

    def __init__(
        self,
        config,
        num_labels=None,
        classifier_dropout_prob=0.1,
        labels=None,
        label_kind=None,
        **kwargs,
    ):
        told = checked_text_labels(labels, num_labels, label_kind)
        super().__init__(config, **kwargs)
        self.labels, self.num_labels, self.label_kind = told
        self.classifier_dropout_prob = classifier_dropout_prob
        alone = dataclasses.replace(config, mem_len=0, reuse_len=0, bi_data=False)
        self.transformer = XLNetModel(
            alone, dtype=self.dtype_policy, name="transformer", **self.execution
        )
        # No loss depends on it.
        self.transformer.embeddings.mask_emb.trainable = False
        self.summary_dense = self._dense(config.d_model, "summary_dense")
        self.classifier = self._dense(self.num_labels, "classifier", "float32")
        self.build()

    def _dense(self, units, name, dtype=None):
        spread = self.config.initializer_range
        return keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.RandomNormal(stddev=spread),
            dtype=dtype or self.dtype_policy,
            name=name,
        )

    def build(self, input_shape=None):
        self.summary_dense.build((None, self.config.d_model))
        self.classifier.build((None, self.config.d_model))

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features, READ)
        if "target_positions" in features:
            raise UserError(
                "XLNetForSequenceClassification predicts no tokens; leave "
                "target_positions out."
            )
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.transformer(
            features, training=training, dropout_seed=seed, heads_only=True
        )
        summary = self.summarize(encoded["last_output"])
        summary = dropout(summary, self.classifier_dropout_prob, seed, CLASSIFIER_SITE)
        return ops.cast(self.classifier(summary), "float32")

    def summarize(self, last_output):
        """Returns the summary `[batch, hidden]` of the output at the last tokens."""
        return ops.tanh(self.summary_dense(last_output))

    def head_config(self):
        dropout_prob = {"classifier_dropout_prob": self.classifier_dropout_prob}
        return {**super().head_config(), **dropout_prob}

    def head_config_to_huggingface(self):
        return {
            **super().head_config_to_huggingface(),
            **_REQUIRED,
            _HUGGINGFACE_DROPOUT: self.classifier_dropout_prob,
        }

    @classmethod
    def head_config_from_huggingface(cls, entries):
        require_entries(entries, _REQUIRED, "config.json")
        told = super().head_config_from_huggingface(entries)
        rate = entries.get(_HUGGINGFACE_DROPOUT)
        return told if rate is None else {**told, "classifier_dropout_prob": rate}

    @classmethod
    def _weights(cls):
        # Their kernel is [hidden, labels].
        return "model/classification/logit/bias"
