"""Training objectives: the interface between the engine and a task."""

import tensorflow as tf

EXAMPLE_WEIGHTS = "example_weights"
"""Feature that the engine adds in evaluation: float32 `[batch]`, 0 for padding rows."""


class LossTerm:
    """A loss term of an objective: a weighted mean, with its own metrics."""

    name: str
    """The loss is reported as `<name>_loss`."""
    metric_names: tuple[str, ...] = ()
    """Names of the metrics, such as `masked_lm_accuracy`."""
    epsilon: float = 0.0
    """Constant added to the denominator."""
    scale: float = 1.0
    """Factor of the term in the total loss; the reported loss is unscaled."""

    def weights(self, batch):
        """Returns float32 label weights, 0 for padding; by default the row weights."""
        return example_weights(batch)

    def sums(self, outputs, batch):
        """Compares the result of `Objective.outputs` with the labels of a batch.

        Returns:
            losses: float32 `[]`, the weighted sum of the losses.
            metrics: `{name: (sum, weight)}`, float32.
        """
        raise NotImplementedError


class Objective:
    """A sum of loss terms, each a mean over its own weights, and some metrics.

    A term is `scale * sum of losses / (sum of weights + epsilon)`, where both sums
    run over all micro-batches and replicas of a step. A mean of means would make a
    masked token's weight depend on how many others its replica happened to get.

    Args:
        terms: the `LossTerm`s.
    """

    loss_terms = ()
    """Names of the terms; their losses are reported as `<term>_loss`."""
    metric_names = ()
    """Names of the other metrics, such as `masked_lm_accuracy`."""
    epsilons = {}
    """Constants added to the terms' denominators."""
    scales = {}
    """Factors of the terms in the total loss; 1 by default."""
    compares_rows = False
    """True if a row's loss depends on the outputs of other rows in the batch."""
    compared = ("labels",)
    """Batch features that `sums` needs for all rows if it compares rows."""

    def __init__(self, terms):
        self.terms = tuple(terms)
        self.loss_terms = tuple(term.name for term in self.terms)
        self.metric_names = tuple(n for term in self.terms for n in term.metric_names)
        self.epsilons = {term.name: term.epsilon for term in self.terms}
        self.scales = {term.name: term.scale for term in self.terms}

    def outputs(self, model, batch, training, dropout_seed):
        """Runs `model` on a batch, as `__call__` does; returns the terms' inputs."""
        raise NotImplementedError

    def denominators(self, batch):
        """Returns the float32 sum of weights of each loss term over `batch`."""
        return {term.name: tf.reduce_sum(term.weights(batch)) for term in self.terms}

    def __call__(self, model, batch, training, dropout_seed):
        """Runs `model` on some rows of the global batch.

        Args:
            model: the Keras model.
            batch: dict of features and labels, `[batch, ...]`.
            training: whether dropout is on.
            dropout_seed: int32 `[2]`, which determines dropout completely.

        Returns:
            losses: `{term: summed float32 loss}`.
            metrics: `{name: (sum, weight)}`, float32.
        """
        outputs = self.outputs(model, batch, training, dropout_seed)
        return self.sums(outputs, batch)

    def first_carried(self, model, rows):
        """Returns the state before the first batch, `{name: float32 [rows, ...]}`.

        By default there is no carried state. `rows` is the global batch size.
        """
        return {}

    def resumed(self, carried, batch):
        """Returns the state for a batch, reset in rows that start a new stream."""
        return carried

    def call_carrying(self, model, batch, training, dropout_seed):
        """Computes what `__call__` does, on a batch that contains the carried state.

        Returns:
            losses, metrics: as `__call__`.
            carried: `{name: [batch, ...]}`, the state for the next batch.
        """
        return (*self(model, batch, training, dropout_seed), {})

    def derived(self, results):
        """Computes derived metrics from the averages of an evaluation."""
        return {}

    def sums(self, outputs, batch):
        """Computes the losses and metrics of all terms, in the form of `__call__`."""
        losses, metrics = {}, {}
        for term in self.terms:
            losses[term.name], term_metrics = term.sums(outputs, batch)
            metrics.update(term_metrics)
        return losses, metrics


def weighted_sums(losses, right, weights, metric):
    """Sums losses and correct answers (bool or float32), as `LossTerm.sums` returns."""
    right = tf.reduce_sum(tf.cast(right, tf.float32) * weights)
    total = tf.reduce_sum(weights)
    return tf.reduce_sum(losses * weights), {metric: (right, total)}


def example_weights(batch):
    """Returns float32 `[batch]`: 1 for real rows, 0 for padding rows."""
    rows = tf.shape(batch["input_ids"])[0]
    return batch.get(EXAMPLE_WEIGHTS, tf.ones([rows]))


def reported_sums(objective, losses, metrics, denominators):
    """Stacks `(sum, weight)` of the losses and metrics into float32 `[metrics, 2]`."""
    pairs = [(losses[term], denominators[term]) for term in objective.loss_terms]
    pairs += [metrics[name] for name in objective.metric_names]
    return tf.stack([tf.stack(pair) for pair in pairs])
