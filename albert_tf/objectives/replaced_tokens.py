"""Replaced-token detection, the objective of ELECTRA."""

import dataclasses

import tensorflow as tf

from albert_tf.layers.base import fold_seed
from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import example_weights
from albert_tf.objectives.base import weighted_sums
from albert_tf.objectives.masked_lm import MASKED_LM
from data_pipeline.records.schema import model_inputs

_SAMPLING_SITE = -5  # apart from the model's sites of dropout
_GENERATOR_SEED = 7  # of the generator's dropout, apart from the discriminator's


class ReplacedTokens(LossTerm):
    """Binary cross-entropy of replaced or original, over all tokens except padding.

    A token that the generator guesses correctly counts as original (ELECTRA,
    section 2).
    """

    name = "replaced_tokens"
    metric_names = ("replaced_tokens_accuracy", "replaced_tokens_recall")

    def __init__(self, scale):
        self.scale = scale

    def weights(self, batch):
        mask = tf.cast(batch["input_mask"], tf.float32)  # [B, T]
        return mask * example_weights(batch)[:, None]

    def sums(self, outputs, batch):
        logits, labels = outputs["replaced_logits"], outputs["is_replaced"]
        weights = self.weights(batch)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
        accuracy, recall = self.metric_names
        right = (logits > 0) == (labels > 0)
        total, metrics = weighted_sums(losses, right, weights, accuracy)
        _, of_replaced = weighted_sums(losses, right, weights * labels, recall)
        return total, {**metrics, **of_replaced}


class ReplacedTokensObjective(Objective):
    """The generator's masked LM loss plus the discriminator's; ELECTRA, formula 3.

    No gradient passes from the discriminator to the generator.

    Args:
        generator_weight, discriminator_weight: weights of the two losses.
        temperature: divisor of the generator's logits before sampling.
    """

    def __init__(
        self, generator_weight=1.0, discriminator_weight=50.0, temperature=1.0
    ):
        masked_lm = dataclasses.replace(MASKED_LM, scale=generator_weight)
        super().__init__((masked_lm, ReplacedTokens(scale=discriminator_weight)))
        self.temperature = temperature

    def outputs(self, model, batch, training, dropout_seed):
        features = model_inputs(batch)
        # Evaluation samples with a fixed seed, so that it is reproducible.
        seed = tf.zeros([2], tf.int32) if dropout_seed is None else dropout_seed
        own = None if dropout_seed is None else fold_seed(seed, _GENERATOR_SEED)
        logits = model.guesses(features, training=training, dropout_seed=own)
        guesses = drawn(logits / self.temperature, fold_seed(seed, _SAMPLING_SITE))
        texts = with_tokens(batch, batch["masked_lm_ids"])
        replaced = with_tokens(batch, guesses)
        features["input_ids"] = replaced
        del features["masked_lm_positions"]
        found = model(features, training=training, dropout_seed=dropout_seed)
        return {
            "masked_lm_logits": logits,
            "replaced_logits": found,
            "is_replaced": tf.cast(replaced != texts, tf.float32),
        }


def drawn(logits, seed):
    """Samples tokens from logits `[batch, predictions, vocabulary]`.

    Returns int32 `[batch, predictions]`, a deterministic function of the seed, int32
    `[2]`.
    """
    uniform = tf.random.stateless_uniform(
        tf.shape(logits), seed, minval=1e-7, maxval=1.0
    )
    return tf.argmax(logits - tf.math.log(-tf.math.log(uniform)), -1, tf.int32)


def with_tokens(batch, tokens):
    """Writes `tokens` `[batch, predictions]` to the masked positions of `input_ids`.

    Positions with a weight of 0 are padding. Returns int32 `[batch, tokens]`.
    """
    ids, positions = batch["input_ids"], batch["masked_lm_positions"]
    is_real = tf.cast(batch["masked_lm_weights"] > 0, tf.int32)
    # A product with one-hot rows: XLA has no fast scatter.
    chosen = tf.one_hot(positions, tf.shape(ids)[1], dtype=tf.int32)  # [B, P, T]
    chosen *= is_real[:, :, None]
    values = tf.reduce_sum(chosen * tokens[:, :, None], axis=1)  # [B, T]
    return tf.where(tf.reduce_sum(chosen, axis=1) > 0, values, ids)
