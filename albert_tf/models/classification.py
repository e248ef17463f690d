"""Classification (or regression) of a text or a pair of texts, and of each token."""

from collections.abc import Iterable
from typing import Any

import keras

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import dropout
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features
from albert_tf.models.labels import TextLabels
from albert_tf.models.labels import TokenLabels
from albert_tf.models.linear_classifier import LinearClassifier
from albert_tf.models.text_embedding import text_vectors

_POOLINGS = ("mean", "cls")


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
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
            labels), "multi_label" (any number of them) or "regression" (outputs are
            numbers, and have no labels).
        exit_heads, exit_rule: to answer before the last layer; see `LinearClassifier`
            and `leave_early`.
        pooling: None, for the official pooled output; or "mean" or "cls", for a vector
            of length 1 as of `AlbertForTextEmbedding`, which is classified in its
            place.
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
        config: AlbertConfig,
        num_labels: int | None = None,
        classifier_dropout_prob: float = 0.1,
        labels: Iterable[str] | None = None,
        label_kind: str | None = None,
        pooling: str | None = None,
        **kwargs: Any,
    ) -> None:
        if pooling not in (None, *_POOLINGS):
            raise UserError(
                f"pooling={pooling!r}: expected one of {', '.join(_POOLINGS)}, or None."
            )
        rate = classifier_dropout_prob
        super().__init__(config, num_labels, rate, labels, label_kind, **kwargs)
        self._check_rule(self.exit_rule)
        if pooling is not None and self.exit_heads is not None:
            raise UserError(
                f"pooling={pooling!r} and exit_heads exclude each other: a row leaves "
                "with its pooled output; give one of them."
            )
        self.pooling = pooling
        if pooling is not None:
            self.albert.pooler.trainable = False  # no loss depends on it

    def call(self, features, training=False, dropout_seed=None, all_layers=False):
        features = named_features(features)
        if self.pooling is None:
            return self.logits(features, training, dropout_seed, all_layers)
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.albert(features, training=training, dropout_seed=seed)
        vectors = text_vectors(encoded, mask_of(features), self.pooling, normalize=True)
        rate = self.classifier_dropout_prob
        return self.classifier(dropout(vectors, rate, seed, CLASSIFIER_SITE))

    @property
    def exit_kind(self):
        if self.label_kind is None and self.num_labels == 1:
            return "regression"
        return self.label_kind or "single_label"

    def head_config(self):
        pooling = {"pooling": self.pooling} if self.pooling else {}
        return {**super().head_config(), **pooling}

    def require_official_head(self, form):
        super().require_official_head(form)
        if self.pooling is not None:
            raise UserError(
                f"Only a model directory has a place for pooling={self.pooling!r}; "
                "save one."
            )


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForTokenClassification(TokenLabels, LinearClassifier):
    """The encoder with a linear classifier on each token.

    Hugging Face's `AlbertForTokenClassification`; the official code has no such model.

    Args:
        config: an `AlbertConfig`.
        num_labels: number of classes. `labels` makes it optional.
        classifier_dropout_prob: dropout on the vectors of tokens, in training.
        labels: names of the classes in the order of their ids. For prediction and
            export, `save_pretrained` keeps the meaning of tags such as "O", "B-PER" and
            "I-PER" (IOB or BIOES), and of plain ones such as "NOUN".
        **kwargs: how the model is computed, see `AlbertModel`.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, tokens, num_labels]`, of
    all tokens, special ones and padding included.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`, or more
            tokens than `config.max_position_embeddings`.

    Example:
        tags = ["O", "B-PER", "I-PER"]
        model = AlbertForTokenClassification.from_pretrained(path, labels=tags)
        logits = model(tokenizer("Ada Lovelace was here."))  # [1, tokens, 3]
    """

    head_table = head_variables.classification(
        "classifier", "classifier", "cls/tagging/"
    )
    classified = "sequence_output"
    # Hugging Face's model has no pooler. Here it stays one of the trained variables,
    # as runs that go on have stored them.
    unused_variables = ("bert/pooler",)

    def call(self, features, training=False, dropout_seed=None):
        return self.logits(named_features(features), training, dropout_seed)
