"""Linear classifiers: of texts (or regression), of tokens, and of several choices."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.exit_rule import EXIT_HEADS
from albert_tf.exit_rule import exit_rule_of
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import dropout
from albert_tf.layers.exits import ExitClassifiers
from albert_tf.layers.heads import ClassificationHead
from albert_tf.models.albert import AlbertWithHead
from albert_tf.models.features import mask_of
from albert_tf.models.features import named_features
from albert_tf.models.labels import TextLabels
from albert_tf.models.labels import TokenLabels
from albert_tf.models.text_embedding import text_vectors
from albert_tf.row_layout import FEATURES

# Prefix of the exit heads' names; the official code has no exit heads.
EXIT_SCOPE = "exit_heads/"
_POOLINGS = ("mean", "cls")


class LinearClassifier(AlbertWithHead):
    """The encoder, dropout on one of its outputs, and a linear layer.

    Args:
        config: an `AlbertConfig`.
        num_outputs: width of the linear layer.
        classifier_dropout_prob: dropout on that output, in training.
        exit_heads: heads that let a row leave after any layer, for a classifier of the
            pooled output: "shared", the linear layer itself, or "per_layer", one for
            each layer; None for none.
        exit_rule: an `ExitRule`, or a dict of its fields: when `leave_early` lets a row
            leave.
        **kwargs: how the model is computed, see `AlbertModel`.

    Raises:
        UserError: exit heads or a rule that the model cannot have.
    """

    head_table = head_variables.classification("classifier", "classifier")
    huggingface_arguments = {"classifier_dropout_prob": "classifier_dropout_prob"}
    # The encoder's output that is classified; or "sequence_output".
    classified = "pooled_output"

    def __init__(
        self,
        config,
        num_outputs,
        classifier_dropout_prob,
        exit_heads=None,
        exit_rule=None,
        **kwargs,
    ):
        super().__init__(config, **kwargs)
        self.classifier_dropout_prob = classifier_dropout_prob
        head = {"num_labels": num_outputs, "dtype": self.dtype_policy}
        self.classifier = ClassificationHead(config, name="classifier", **head)
        self.exit_heads, self.exit_classifiers = exit_heads, None
        self.exit_rule = exit_rule_of(exit_rule)
        self._check_exits()
        if exit_heads == "per_layer":
            self.exit_classifiers = ExitClassifiers(
                config, name="exit_classifiers", **head
            )
        self.build()

    def build(self, input_shape=None):
        self.classifier.build((None, self.config.hidden_size))
        if self.exit_classifiers is not None:
            self.exit_classifiers.build()

    def logits(self, features, training, dropout_seed, all_layers=False):
        """Computes logits of features `[rows, tokens]`.

        Returns:
            float32 `[rows, num_outputs]`, for the sequence output `[rows, tokens,
            num_outputs]`; with `all_layers`, the exit heads' `[rows, layers,
            num_outputs]`.
        """
        if all_layers:
            self._require_exit_heads()
        elif training and self.exit_heads is not None:
            raise UserError(
                "Exit heads learn with the encoder or answer wrongly: train with "
                "--early_exit (all_layers=True), or load the model with "
                "exit_heads=None."
            )
        seed = self._dropout_seed(training, dropout_seed)
        heads_only = self.classified == "pooled_output"
        encoded = self.encoded(
            features, training, seed, heads_only=heads_only, all_layers=all_layers
        )
        kept = dropout(
            encoded["pooled_outputs" if all_layers else self.classified],
            self.classifier_dropout_prob,
            seed,
            CLASSIFIER_SITE,
        )
        if not all_layers or self.exit_heads == "shared":
            return self.classifier(kept)
        earlier = self.exit_classifiers(kept[:, :-1])
        return ops.concatenate([earlier, self.classifier(kept[:, -1:])], axis=1)

    def leave_early(self, features, rule=None, threshold=None):
        """Classifies each row after the layer at which the rule lets it leave.

        Args:
            features: as for the call.
            rule: an `ExitRule` that replaces the model's own.
            threshold: a float32 scalar that replaces the rule's.

        Returns:
            logits: see the call.
            layers: int32 `[batch]`, how many layers each row took.

        Raises:
            UserError: the model has no exit heads or no rule, or the rule does not fit.
        """
        self._require_exit_heads()
        rule = exit_rule_of(rule) or self.exit_rule
        if rule is None:
            raise UserError(
                "The model has exit heads, but no rule when to leave; give exit_rule."
            )
        self._check_rule(rule)
        decision = {"rule": rule, "kind": self.exit_kind, "threshold": threshold}
        return self._leave(named_features(features), decision)

    def _leave(self, features, decision):
        # Imported here: the models also run without TensorFlow.
        from albert_tf.models.early_exit import leave_early

        shape = (ops.shape(features["input_ids"])[0], self.classifier.num_labels)
        return leave_early(self.albert, features, self._exit_logits, shape, decision)

    def _exit_logits(self, pooled, layer, rows):
        """Computes one layer's logits for `leave_early`."""
        if self.exit_heads == "shared":
            return self.classifier(pooled)
        return self.exit_classifiers.of_layer(pooled, layer, self.classifier)

    @property
    def exit_kind(self):
        """The kind of the outputs for an `ExitRule`, one of `LABEL_KINDS`."""
        return "single_label"

    def _check_rule(self, rule):
        """Refuses a rule that does not fit the outputs; None fits all."""
        if rule is not None:
            rule.check_fits(self.exit_kind, self.config.num_hidden_layers)

    def _require_exit_heads(self):
        if self.exit_heads is None:
            raise UserError(
                f"This {type(self).__name__} has no exit heads, by which a text could "
                "leave early; fine-tune it with --early_exit."
            )

    def _check_exits(self):
        """Refuses exit heads or a rule that the model cannot have."""
        if self.exit_heads is None:
            if self.exit_rule is not None:
                self._require_exit_heads()
            return
        if self.exit_heads not in EXIT_HEADS:
            raise UserError(
                f"exit_heads={self.exit_heads!r}: expected one of "
                f"{', '.join(EXIT_HEADS)}."
            )
        layers = self.config.num_hidden_layers
        if self.config.pooled_tokens == "mean":
            raise UserError(
                "A model with pooled_tokens 'mean' has no vector of one token from "
                "which a text could leave early; leave exit_heads (--early_exit) out, "
                "or load the model with pooled_tokens='first'."
            )
        if self.classified != "pooled_output" or layers < 2:
            raise UserError(
                f"{type(self).__name__} with num_hidden_layers={layers} has no layer "
                "from which a whole text could leave early; leave exit_heads "
                "(--early_exit) out."
            )

    def head_config(self):
        config = {"classifier_dropout_prob": self.classifier_dropout_prob}
        if self.exit_heads is not None:
            config["exit_heads"] = self.exit_heads
        if self.exit_rule is not None:
            config["exit_rule"] = dataclasses.asdict(self.exit_rule)
        return config

    def require_official_head(self, form):
        if self.exit_heads is not None:
            raise UserError(
                "Only a model directory can hold exit heads; load the model with "
                "exit_heads=None, which keeps its answers at full depth, and save that."
            )

    def head_variables(self):
        exits = self.exit_classifiers
        own = super().head_variables()
        if exits is None:
            return own
        names = ("output_weights", "output_bias")
        return {
            **own,
            **{f"{EXIT_SCOPE}{name}": getattr(exits, name) for name in names},
        }

    @classmethod
    def resolve_arguments(cls, saved, given, tensors=None):
        if given.get("exit_heads", ...) is None:
            saved = {k: v for k, v in saved.items() if k != "exit_rule"}
        return super().resolve_arguments(saved, given, tensors)


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForSequenceClassification(TextLabels, LinearClassifier):
    """The encoder with a linear classifier on its pooled output.

    Official `classifier_utils.create_model`.

    Args:
        num_labels: number of classes; 1 for regression. `labels` makes it optional.
        classifier_dropout_prob: dropout on the pooled output, in training.
        labels: names of the classes in the order of their ids; `save_pretrained` keeps
            them for prediction and export.
        label_kind: the meaning of the outputs: "single_label" (each text has one of the
            labels), "multi_label" (any number of them) or "regression" (outputs are
            numbers, and have no labels).
        exit_heads, exit_rule: for answers before the last layer; see
            `LinearClassifier` and `leave_early`.
        pooling: what is classified: None, the official pooled output; "mean" or "cls",
            a vector of length 1 (see `AlbertForTextEmbedding`).
        window_pooling: for texts in several windows, `[batch, windows, tokens]`: the
            "mean" or the "max" of the windows' logits.

    Call: as `AlbertModel`, or with features `[batch, rows, tokens]`. Returns logits,
    float32 `[batch, num_labels]`; without a `window_pooling` those of all rows,
    `[batch, rows, num_labels]`; with `all_layers` those of the exit heads,
    `[batch, layers, num_labels]`.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`.

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
        window_pooling: str | None = None,
        **kwargs: Any,
    ) -> None:
        if pooling not in (None, *_POOLINGS):
            raise UserError(
                f"pooling={pooling!r}: expected one of {', '.join(_POOLINGS)}, or None."
            )
        rate = classifier_dropout_prob
        own = labels, label_kind, window_pooling
        super().__init__(config, num_labels, rate, *own, **kwargs)
        self._check_rule(self.exit_rule)
        if window_pooling is not None and self.exit_heads is not None:
            raise UserError(
                f"window_pooling={window_pooling!r} and exit_heads exclude each other: "
                "a text in windows has no layer at which it leaves; give one of them."
            )
        if pooling is not None and self.exit_heads is not None:
            raise UserError(
                f"pooling={pooling!r} and exit_heads exclude each other: a row leaves "
                "with its pooled output; give one of them."
            )
        self.pooling = pooling
        if pooling is not None:
            self.albert.train_pooler(False)  # no loss depends on it

    def call(self, features, training=False, dropout_seed=None, all_layers=False):
        return self.of_windows(features, training, dropout_seed, all_layers)

    def classify(self, features, training, dropout_seed, all_layers):
        if self.pooling is None:
            return self.logits(features, training, dropout_seed, all_layers)
        seed = self._dropout_seed(training, dropout_seed)
        encoded = self.encoded(features, training, seed)
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
        num_labels: number of classes. `labels` makes it optional.
        classifier_dropout_prob: dropout on the vectors of tokens, in training.
        labels: names of the classes in the order of their ids: tags such as "O",
            "B-PER" and "I-PER" (IOB or BIOES), or plain ones such as "NOUN".
            `save_pretrained` keeps them for prediction and export.

    Call: as `AlbertModel`. Returns logits, float32 `[batch, tokens, num_labels]`, of
    all tokens, special ones and padding included.

    Raises:
        UserError: `num_labels` is not positive or not the number of `labels`.

    Example:
        tags = ["O", "B-PER", "I-PER"]
        model = AlbertForTokenClassification.from_pretrained(path, labels=tags)
        logits = model(tokenizer("Ada Lovelace was here."))  # [1, tokens, 3]
    """

    head_table = head_variables.classification(
        "classifier", "classifier", "cls/tagging/"
    )
    classified = "sequence_output"
    # The unread pooler stays a trained variable, because the checkpoints of unfinished
    # runs hold it.
    classifies_tokens = True

    def call(self, features, training=False, dropout_seed=None):
        return self.logits(named_features(features), training, dropout_seed)


NO_CHOICE = -1e9
"""The logit of a choice that is all padding, which gives it probability 0."""


class ChoiceLogits:
    """A mixin that scores choices, for models with `LinearClassifier.logits`."""

    feature_axes = 3
    purpose = "multiple_choice"

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features)
        lines, shape = self._lines(features)
        logits = self.logits(lines, training, dropout_seed)  # [B * C, 1]
        logits = ops.reshape(logits, shape)
        kept = _kept(features)
        return logits if kept is None else ops.where(kept, logits, NO_CHOICE)

    def _lines(self, features):
        """Flattens features to `[batch * choices, tokens]`; adds (batch, choices)."""
        axes = len(features["input_ids"].shape)
        if axes != self.feature_axes:
            raise UserError(
                f"input_ids has {axes} axes, but {type(self).__name__} takes "
                "[batch, choices, tokens]; put the choices of each question together."
            )
        shape = ops.shape(features["input_ids"])
        lines = {
            name: ops.reshape(features[name], (-1, shape[2]))  # [B * C, T]
            for name in FEATURES
            if name in features
        }
        return lines, shape[:2]


@keras.saving.register_keras_serializable(package="albert_tf")
@registry.register_model
class AlbertForMultipleChoice(ChoiceLogits, LinearClassifier):
    """The encoder with a score for each choice of a question.

    The model of RACE: `create_model` in race_utils.py of google-research/albert,
    `AlbertForMultipleChoice` of Hugging Face.

    Args:
        classifier_dropout_prob: dropout on the pooled output, in training.
        exit_heads, exit_rule: for answers before the last layer; see
            `LinearClassifier` and `leave_early`.

    Call: as `AlbertModel`, but the features are `[batch, choices, tokens]`: a row of
    tokens for each choice of a question. If a question has fewer choices than another
    one in the batch, the spare rows are padding, with an `input_mask` of zeros.
    Returns logits, float32 `[batch, choices]`, `NO_CHOICE` for padding; a question
    that is padding as a whole keeps its logits, as in the official code. With
    `all_layers`, the logits are those of the exit heads, `[batch, layers, choices]`.

    Raises:
        UserError: the features do not have three axes.

    Example:
        model = AlbertForMultipleChoice.from_pretrained(path)
        prompt = "a text"
        features = tokenizer([prompt] * 2, ["one choice", "another"])  # [2, tokens]
        model({name: value[None] for name, value in features.items()})  # [1, 2]
    """

    def __init__(
        self,
        config: AlbertConfig,
        classifier_dropout_prob: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, 1, classifier_dropout_prob, **kwargs)
        self._check_rule(self.exit_rule)

    def call(self, features, training=False, dropout_seed=None, all_layers=False):
        if not all_layers:
            return super().call(features, training, dropout_seed)
        features = named_features(features)
        lines, shape = self._lines(features)
        logits = self.logits(lines, training, dropout_seed, all_layers)[..., 0]
        logits = ops.reshape(logits, (*shape, self.config.num_hidden_layers))
        logits = ops.transpose(logits, (0, 2, 1))  # [B * C, L] -> [B, L, C]
        kept = _kept(features)
        return logits if kept is None else ops.where(kept[:, None], logits, NO_CHOICE)

    def _leave(self, features, decision):
        from albert_tf.models.early_exit import leave_early

        lines, shape = self._lines(features)
        kept = _kept(features)

        def head(pooled, layer, rows):
            logits = self._exit_logits(pooled, layer, rows)  # [n * C, 1]
            logits = ops.reshape(logits, (-1, shape[1]))  # [n, C]
            if kept is None:
                return logits
            return ops.where(ops.take(kept, rows, axis=0), logits, NO_CHOICE)

        return leave_early(self.albert, lines, head, shape, decision, choices=shape[1])


def _kept(features):
    """Marks choices that are not padding, bool `[batch, choices]`; None means all."""
    if "input_mask" not in features:
        return None
    real = ops.any(features["input_mask"] > 0, axis=2)  # [B, C]
    return real | ~ops.any(real, axis=1, keepdims=True)
