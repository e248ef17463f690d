"""Multiple choice: which of several options answers a question on a text."""

import keras
from keras import ops

from albert_tf.errors import UserError
from albert_tf.models.features import named_features
from albert_tf.models.linear_classifier import LinearClassifier

_FLATTENED = ("input_ids", "input_mask", "segment_ids")
NO_CHOICE = -1e9
"""The logit of a choice that is only padding: its probability is 0."""


@keras.saving.register_keras_serializable(package="albert_tf")
class AlbertForMultipleChoice(LinearClassifier):
    """The encoder with a score for each choice of a question.

    The model of RACE: `create_model` in race_utils.py of google-research/albert,
    `AlbertForMultipleChoice` of Hugging Face.

    Args:
        config: an `AlbertConfig`.
        classifier_dropout_prob: dropout on the pooled output, in training.
        **kwargs: how the model is computed, see `AlbertModel`.

    Call: as `AlbertModel`, but the features are `[batch, choices, tokens]`: a row of
    tokens for each choice of a question. Where a question has fewer choices than
    others of the batch, the rows left over are padding, with an `input_mask` of zeros.
    Returns logits, float32 `[batch, choices]`, `NO_CHOICE` for padding; a question
    that is padding as a whole keeps its logits, as in the official code.

    Raises:
        UserError: features of another number of axes, or more tokens than
            `config.max_position_embeddings`.

    Example:
        model = AlbertForMultipleChoice.from_pretrained(path)
        prompt = "a text"
        features = tokenizer([prompt] * 2, ["one choice", "another"])  # [2, tokens]
        model({name: value[None] for name, value in features.items()})  # [1, 2]
    """

    feature_axes = 3
    task_kind = "multiple_choice"

    def __init__(self, config, classifier_dropout_prob=0.1, **kwargs):
        super().__init__(config, 1, classifier_dropout_prob, **kwargs)

    def call(self, features, training=False, dropout_seed=None):
        features = named_features(features)
        axes = len(features["input_ids"].shape)
        if axes != self.feature_axes:
            raise UserError(
                f"input_ids has {axes} axes, but AlbertForMultipleChoice takes "
                "[batch, choices, tokens]; put the choices of each question together."
            )
        shape = ops.shape(features["input_ids"])
        rows = {
            name: ops.reshape(features[name], (-1, shape[2]))  # [B * C, T]
            for name in _FLATTENED
            if name in features
        }
        logits = self.logits(rows, training, dropout_seed)  # [B * C, 1]
        logits = ops.reshape(logits, shape[:2])  # [B, C]
        if "input_mask" not in features:
            return logits
        real = ops.any(features["input_mask"] > 0, axis=2)  # [B, C]
        kept = real | ~ops.any(real, axis=1, keepdims=True)
        return ops.where(kept, logits, NO_CHOICE)
