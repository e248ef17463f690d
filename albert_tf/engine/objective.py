"""What is minimised: the interface between the engine and a task."""

import tensorflow as tf

EXAMPLE_WEIGHTS = "example_weights"
"""Feature that the engine adds in evaluation: float32 `[batch]`, 0 for padded rows."""


class Objective:
    """A sum of loss terms, each a mean over its own weights, and some metrics.

    A term is `sum of losses / (sum of weights + epsilon)`, where both sums run over
    all micro-batches and replicas of a step: a mean of means would weigh a masked
    token by how many others its replica happened to get.
    """

    loss_terms = ()
    """Names of the terms; `<term>_loss` is reported."""
    metric_names = ()
    """Names of the other metrics, such as `masked_lm_accuracy`."""
    epsilons = {}
    """What a term's denominator is increased by."""

    def denominators(self, batch):
        """Returns the float32 sum of weights of each loss term over `batch`."""
        raise NotImplementedError

    def __call__(self, model, batch, training, dropout_seed):
        """Runs `model` on some rows of the global batch.

        Args:
            model: the Keras model.
            batch: dict of features and labels, `[batch, ...]`.
            training: whether dropout is on.
            dropout_seed: int32 `[2]`; dropout is a pure function of it.

        Returns:
            losses: `{term: summed float32 loss}`.
            metrics: `{name: (sum, weight)}`, float32.
        """
        raise NotImplementedError


def example_weights(batch):
    """Float32 `[batch]`: 1 for a real row, 0 for one that pads an evaluation batch."""
    rows = tf.shape(batch["input_ids"])[0]
    return batch.get(EXAMPLE_WEIGHTS, tf.ones([rows]))
