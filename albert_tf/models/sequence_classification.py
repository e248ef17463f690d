"""Classification (or regression) of a text or a pair of texts."""

import keras

from albert_tf.models.features import named_features
from albert_tf.models.linear_classifier import LinearClassifier
from albert_tf.models.text_labels import TextLabels
from albert_tf.models.text_labels import checked_text_labels


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForSequenceClassification(TextLabels, LinearClassifier):
    """The encoder with a linear classifier on its pooled output.

    Official `classifier_utils.create_model`.

    Args:
        config: an `AlbertConfig`.
        num_labels: number of classes; 1 for regression. `labels` makes it optional.
        classifier_dropout_prob: dropout on the pooled output, in training.
        labels: names of the classes in the order of their ids; `save_pretrained` keeps
            them for prediction and export.
        label_kind: the meaning of the outputs: "single_label" (each text has one of the
            labels), "multi_label" (any number of them) or "regression" (the output is a
            number, and has no labels).
        exit_heads, exit_rule: to answer before the last layer; see `LinearClassifier`
            and `leave_early`.
        **kwargs: how the model is computed, see `AlbertModel`.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, num_labels]`; with
    `all_layers`, those of the exit heads, `[batch, layers, num_labels]`.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or more
            tokens than `config.max_position_embeddings`.

    Example:
        model = AlbertForSequenceClassification.from_pretrained(path, num_labels=3)
        model.compile(
            optimizer="adam",
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    """

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
        super().__init__(config, told[1], classifier_dropout_prob, **kwargs)
        self.labels, self.num_labels, self.label_kind = told
        self._check_rule(self.exit_rule)

    def call(self, features, training=False, dropout_seed=None, all_layers=False):
        features = named_features(features)
        return self.logits(features, training, dropout_seed, all_layers)

    @property
    def exit_kind(self):
        if self.label_kind is None and self.num_labels == 1:
            return "regression"
        return self.label_kind or "single_label"
