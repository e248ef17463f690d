"""Multiple choice: which of several options answers a question on a text."""

from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.models.features import named_features
from albert_tf.models.linear_classifier import LinearClassifier
from albert_tf.row_layout import FEATURES

NO_CHOICE = -1e9
"""The logit of a choice that is only padding: its probability is 0."""


class ChoiceLogits:
    """For a model with a method `logits` of rows, as a `LinearClassifier` has."""

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
        """Returns features `[batch * choices, tokens]`, and (batch, choices)."""
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
        config: an `AlbertConfig`.
        classifier_dropout_prob: dropout on the pooled output, in training.
        exit_heads, exit_rule: to answer before the last layer; see `LinearClassifier`
            and `leave_early`.
        **kwargs: how the model is computed, see `AlbertModel`.

    Call: as `AlbertModel`, but the features are `[batch, choices, tokens]`: a row of
    tokens for each choice of a question. Where a question has fewer choices than
    others of the batch, the rows left over are padding, with an `input_mask` of zeros.
    Returns logits, float32 `[batch, choices]`, `NO_CHOICE` for padding; a question
    that is padding as a whole keeps its logits, as in the official code. With
    `all_layers`, the logits are those of the exit heads, `[batch, layers, choices]`.

    Raises:
        UserError: features of another number of axes, or more tokens than
            `config.max_position_embeddings`.

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
    """Returns where a choice is one, bool `[batch, choices]`; None: everywhere."""
    if "input_mask" not in features:
        return None
    real = ops.any(features["input_mask"] > 0, axis=2)  # [B, C]
    return real | ~ops.any(real, axis=1, keepdims=True)
