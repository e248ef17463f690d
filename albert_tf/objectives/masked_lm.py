"""The pretraining objectives: their heads, and the labels that each head learns.

To add a head, add a `HeadTerm` here, the name of its data to `OBJECTIVES`, and its
labels to `data_pipeline.records.schema`.
"""

import dataclasses
import math

import tensorflow as tf

from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.objectives.base import example_weights
from albert_tf.objectives.base import weighted_sums
from data_pipeline.records.schema import model_inputs

_MEMORIES = "memories"
_LARGEST_EXPONENT = 700.0  # of a float64


@dataclasses.dataclass(frozen=True)
class HeadTerm(LossTerm):
    """Cross-entropy and accuracy of a head's classes against its labels."""

    name: str
    """The head's name: the model's output is `<name>_logits`, `[..., classes]`."""
    labels: str
    """Feature with the labels: int32, shaped like the logits without the class axis."""
    label_weights: str | None = None
    """Feature with the weight of each label; without it in a batch, weights are 1."""
    epsilon: float = 0.0
    scale: float = 1.0
    num_sentence_labels: int | None = None
    """Number of classes of a head on the pooled output; None for a head on tokens."""

    @property
    def metric_names(self):
        return (f"{self.name}_accuracy",)

    def weights(self, batch):
        labels = batch[self.labels]
        rows = example_weights(batch)  # [B]
        rows = tf.reshape(rows, [-1] + [1] * (labels.shape.rank - 1))
        if self.label_weights in batch:
            return batch[self.label_weights] * rows
        return tf.broadcast_to(rows, tf.shape(labels))

    def sums(self, outputs, batch):
        labels, weights = batch[self.labels], self.weights(batch)
        logits = tf.cast(outputs[f"{self.name}_logits"], tf.float32)
        cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits
        )
        right = tf.argmax(logits, axis=-1, output_type=labels.dtype) == labels
        return weighted_sums(cross_entropy, right, weights, f"{self.name}_accuracy")


MASKED_LM = HeadTerm(
    "masked_lm", "masked_lm_ids", "masked_lm_weights", epsilon=1e-5
)  # [B, P]
SENTENCE_ORDER = HeadTerm(
    "sentence_order",
    "sentence_order_labels",
    "sentence_order_weights",
    num_sentence_labels=2,
)  # [B], or [B, K] in packed rows
OBJECTIVES = {
    "sop": (MASKED_LM, SENTENCE_ORDER),
    "nsp": (MASKED_LM, SENTENCE_ORDER),
    "none": (MASKED_LM,),
}
"""The terms by the `--sentence_objective` of the data.

Sentence order and BERT's next-sentence prediction differ only in the data: head, loss
and metrics are the same, and are named after sentence order in both cases.
"""

PERMUTATION_LM = HeadTerm("permutation_lm", "target_ids", "target_weights")
"""Cross-entropy `[batch, predictions]` of the query stream."""


class PretrainingObjective(Objective):
    """Masked LM plus sentence order, unweighted; paper section 3.1.

    As in the official `run_pretraining.py`, the masked LM loss is a mean over masked
    tokens (denominator + 1e-5), and the sentence-order loss a mean over sequences. In
    packed rows each pair is a sequence, so packing does not change the losses.

    Args:
        terms: the `HeadTerm`s; by default those two.
    """

    def __init__(self, terms=OBJECTIVES["sop"]):
        super().__init__(terms)

    def outputs(self, model, batch, training, dropout_seed):
        return model(
            model_inputs(batch),
            training=training,
            dropout_seed=dropout_seed,
            heads_only=True,
        )


class PermutationObjective(Objective):
    """The official XLNet loss: a mean over all predictions.

    With `mem_len` in the model's config, each row passes its memory on to the same row
    of the next batch. A row that begins a stream starts with a memory of zeros, which
    attention does see, as in the official training.
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
        """Computes perplexity and bits per predicted token, like the official code."""
        loss = results[f"{PERMUTATION_LM.name}_loss"]
        return {
            "perplexity": math.exp(min(loss, _LARGEST_EXPONENT)),
            "bits_per_token": loss / math.log(2.0),
        }


def sentence_heads(terms):
    """Maps the name of each head on the pooled output to its number of classes."""
    return {t.name: t.num_sentence_labels for t in terms if t.num_sentence_labels}
