"""The base of models with a linear layer on an output of the encoder."""

import dataclasses

from keras import ops

from albert_tf.errors import UserError
from albert_tf.exit_rule import EXIT_HEADS
from albert_tf.exit_rule import exit_rule_of
from albert_tf.families import head_variables
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import dropout
from albert_tf.layers.exits import ExitClassifiers
from albert_tf.layers.heads import ClassificationHead
from albert_tf.models.albert import AlbertWithHead
from albert_tf.models.features import named_features

# Before the official names of the layers' own heads, which only this project has.
EXIT_SCOPE = "exit_heads/"


class LinearClassifier(AlbertWithHead):
    """The encoder, dropout on one of its outputs, and a linear layer.

    Args:
        config: an `AlbertConfig`.
        num_outputs: width of the linear layer.
        classifier_dropout_prob: dropout on that output, in training.
        exit_heads: heads by which a row may leave after any layer, of those that
            classify the pooled output: "shared", the linear layer itself, or
            "per_layer", one of its own for each layer; None for none.
        exit_rule: an `ExitRule`, or its fields by name: when a row leaves in
            `leave_early`.
        **kwargs: how the model is computed, see `AlbertModel`.

    Raises:
        UserError: exit heads or a rule that the model cannot have.
    """

    head_table = head_variables.classification("classifier", "classifier")
    huggingface_arguments = {"classifier_dropout_prob": "classifier_dropout_prob"}
    # What of the encoder is classified: "pooled_output", or "sequence_output".
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
            float32 `[rows, num_outputs]`, or of the sequence output
            `[rows, tokens, num_outputs]`; with `all_layers`, of the exit heads, `[rows,
            layers, num_outputs]`.
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
        encoded = self.albert(
            features,
            training=training,
            dropout_seed=seed,
            heads_only=self.classified == "pooled_output",
            all_layers=all_layers,
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
        """Answers each row after the layer at which the rule lets it leave.

        Args:
            features: as of the call.
            rule: an `ExitRule` in place of the model's own.
            threshold: a float32 scalar in place of the rule's.

        Returns:
            logits: as of the call.
            layers: int32 `[batch]`, how many layers each row took.

        Raises:
            UserError: the model has no exit heads or no rule, or the rule does not fit.
        """
        features = named_features(features)
        return self._leave(features, self._decision(rule, threshold))

    def _leave(self, features, decision):
        # Imported here: the models also run without TensorFlow.
        from albert_tf.models.early_exit import leave_early

        shape = (ops.shape(features["input_ids"])[0], self.classifier.num_labels)
        return leave_early(self.albert, features, self._exit_logits, shape, decision)

    def _exit_logits(self, pooled, layer, rows):
        """Computes the logits of one layer, as `leave_early` asks for them."""
        if self.exit_heads == "shared":
            return self.classifier(pooled)
        return self.exit_classifiers.of_layer(pooled, layer, self.classifier)

    def _decision(self, rule, threshold=None):
        """Returns the arguments of `exits.leaving` that decide."""
        self._require_exit_heads()
        rule = exit_rule_of(rule) or self.exit_rule
        if rule is None:
            raise UserError(
                "The model has exit heads, but no rule when to leave; give exit_rule."
            )
        self._check_rule(rule)
        return {"rule": rule, "kind": self.exit_kind, "threshold": threshold}

    @property
    def exit_kind(self):
        """The meaning of the outputs to an `ExitRule`, one of `LABEL_KINDS`."""
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
