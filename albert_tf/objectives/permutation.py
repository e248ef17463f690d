"""The permutation language model: its loss, and its memory from step to step."""

import math

import tensorflow as tf

from albert_tf.objectives.base import Objective
from albert_tf.objectives.masked_lm import HeadTerm
from data_pipeline.records.schema import model_inputs

PERMUTATION_LM = HeadTerm("permutation_lm", "target_ids", "target_weights")
"""Cross-entropy `[batch, predictions]` of the query stream."""

_MEMORIES = "memories"
_LARGEST_EXPONENT = 700.0  # of a float64


class PermutationObjective(Objective):
    """The official loss of XLNet: a mean over all predictions.

    With `mem_len` in the model's configuration, a batch hands its memories on to the
    next one, row by row. A row that begins a stream starts with zeros, which are seen,
    as in the official training.
    """

    def __init__(self):
        super().__init__((PERMUTATION_LM,))

    def outputs(self, model, batch, training, dropout_seed):
        features = model_inputs(batch)
        if _MEMORIES in batch:
            features[_MEMORIES] = batch[_MEMORIES]
        outputs = model(features, training=training, dropout_seed=dropout_seed)
        return {**outputs, f"{PERMUTATION_LM.name}_logits": outputs["logits"]}

    def first_carried(self, model, rows):
        if not model.config.mem_len:
            return {}
        return {_MEMORIES: model.transformer.first_memories(rows)}

    def resumed(self, carried, batch):
        continues = tf.reshape(batch["stream_starts"] == 0, [-1, 1, 1, 1])
        memories = carried[_MEMORIES]
        return {_MEMORIES: tf.where(continues, memories, tf.zeros_like(memories))}

    def call_carrying(self, model, batch, training, dropout_seed):
        outputs = self.outputs(model, batch, training, dropout_seed)
        carried = {}
        if _MEMORIES in batch:
            carried = {_MEMORIES: tf.cast(outputs[_MEMORIES], tf.float32)}
        return (*self.sums(outputs, batch), carried)

    def derived(self, results):
        """Computes perplexity and bits of a predicted token, as the official code."""
        loss = results[f"{PERMUTATION_LM.name}_loss"]
        return {
            "perplexity": math.exp(min(loss, _LARGEST_EXPONENT)),
            "bits_per_token": loss / math.log(2.0),
        }
