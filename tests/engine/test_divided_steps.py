"""Steps of a linear model, divided among replicas and micro-batches.

The rows of one loss are apart; those of the other are compared with each other.
"""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.contrastive_step import ContrastiveStep
from albert_tf.engine.contrastive_step import step_of
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.strategies import replica_rows
from albert_tf.engine.train_step import TrainStep
from albert_tf.objectives.base import LossTerm
from albert_tf.objectives.base import Objective
from albert_tf.optimizers.moments import MomentsOptimizer
from tests.engine.conftest import dense

RATE, DECAY, MOMENTUM, CLIP_NORM = 0.1, 0.02, 0.9, 0.5
STEPS, ROWS = 2, 8
LARGE = 3 * 2**24  # numbers that float32 does not hold


class MomentumDescent(MomentsOptimizer):
    """Stochastic gradient descent with momentum: one moment."""

    moment_names = ("momentum",)

    def direction(self, index, gradient, moments, step):
        momentum = MOMENTUM * moments["momentum"] + gradient
        return momentum, {"momentum": momentum}


class SquaredError(Objective):
    """The mean square over rows that count unequally; notes the seeds of dropout."""

    loss_terms = ("square",)
    metric_names = ()
    epsilons = {}

    def __init__(self):
        self.seeds = []

    def denominators(self, batch):
        return {"square": tf.reduce_sum(batch["weights"])}

    def __call__(self, model, batch, training, dropout_seed):
        def note(seed):
            self.seeds.append(tuple(seed.numpy().tolist()))

        tf.py_function(note, [dropout_seed], [])
        squares = tf.square(model(batch["inputs"])[:, 0] - batch["targets"])
        return {"square": tf.reduce_sum(batch["weights"] * squares)}, {}


@pytest.fixture
def batch():
    random = np.random.default_rng(0)
    return {
        "inputs": random.normal(size=(ROWS, 3)).astype(np.float32),
        "targets": random.normal(size=ROWS).astype(np.float32),
        "weights": np.arange(ROWS, dtype=np.float32),
        "labels": np.array([0, 1, 2, 0, 1, 2**16, 0, 2], np.int32) + np.int32(LARGE),
    }


def options(**changes):
    usual = {"output_dir": "", "num_train_steps": 1, "use_xla": False}
    return TrainerOptions(**{**usual, **changes})


@pytest.fixture
def make_step(two_replicas):
    """Makes a `TrainStep` and a function that takes one step of 2 x 2 micro-batches."""

    def make():
        with two_replicas.scope():
            layer, optimizer = dense(1, 3, MomentumDescent(RATE, DECAY))
            clipped = options(clip_norm=CLIP_NORM)
            train_step = TrainStep(layer, SquaredError(), optimizer, clipped)

        @tf.function
        def take(batch):
            rows = replica_rows(two_replicas, batch)
            return two_replicas.run(train_step, (rows,), {"micro_batches": 2})

        return train_step, lambda batch: take(
            {name: tf.constant(value) for name, value in batch.items()}
        )

    return make


def reference(batch):
    """Computes kernel, bias and their momentum after `STEPS` steps, in float64."""
    weights = [np.ones((3, 1)), np.zeros(1)]
    moments = [np.zeros((3, 1)), np.zeros(1)]
    inputs, share = batch["inputs"], batch["weights"] / batch["weights"].sum()
    for _ in range(STEPS):
        errors = inputs @ weights[0][:, 0] + weights[1] - batch["targets"]
        slopes = 2 * share * errors
        gradients = [(inputs.T @ slopes)[:, None], slopes.sum(keepdims=True)]
        norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients))
        assert norm > CLIP_NORM
        for i, decay in enumerate((DECAY, 0.0)):  # a bias does not decay
            moments[i] = MOMENTUM * moments[i] + gradients[i] * CLIP_NORM / norm
            weights[i] = weights[i] - RATE * (moments[i] + decay * weights[i])
    return weights, moments


def test_steps_equal_the_formulas(make_step, batch):
    train_step, take = make_step()
    for _ in range(STEPS):
        take(batch)
    weights, moments = reference(batch)
    found = [variable.numpy() for variable in train_step.model.trainable_variables]
    for value, expected in zip(found, weights, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5)
    for own, expected in zip(train_step.optimizer.moments, moments, strict=True):
        assert set(own) == {"momentum"}
        np.testing.assert_allclose(own["momentum"].numpy(), expected, rtol=1e-5)
    # No two micro-batches share a dropout seed: on two replicas, on one, in two steps.
    seeds = train_step.objective.seeds
    assert len(set(seeds)) == len(seeds) == 2 * 2 * STEPS


class Rivals(LossTerm):
    """Each row's square, less that of the rows with an equal label."""

    name, metric_names = "rivals", ("share",)

    def weights(self, batch):
        return tf.ones(tf.shape(batch["labels"])[:1])

    def sums(self, outputs, batch):
        labels = batch["labels"]
        equal = tf.cast(labels[:, None] == labels[None, :], tf.float32)
        products = outputs @ tf.transpose(outputs)
        return tf.reduce_sum(equal * tf.square(products)), {
            "share": (tf.reduce_sum(equal), tf.constant(64.0))
        }


class RivalObjective(Objective):
    """The outputs of a layer, and random numbers in place of dropout."""

    compares_rows = True

    def __init__(self, noise=0.0):
        super().__init__([Rivals()])
        self._noise = noise

    def outputs(self, model, batch, training, dropout_seed):
        outputs = model(batch["inputs"])
        shape = tf.shape(outputs)
        return outputs + self._noise * tf.random.stateless_uniform(shape, dropout_seed)


def stepped(strategy, batch, micro_batches, use_xla=False, noise=0.0):
    """Returns the kernel after a step, and the metrics."""
    with strategy.scope():
        layer, optimizer = dense(2, 3, MomentumDescent(RATE, 0.0))
        unclipped = options(clip_norm=1e9, use_xla=use_xla)
        step = step_of(layer, RivalObjective(noise), optimizer, unclipped)
    assert isinstance(step, ContrastiveStep)

    @tf.function(autograph=False)
    def run():
        rows = replica_rows(strategy, {k: tf.constant(v) for k, v in batch.items()})
        return strategy.run(step, (rows,), {"micro_batches": micro_batches})

    sums = strategy.experimental_local_results(run())[0]
    return layer.kernel.numpy(), sums.numpy()[:2, 0] / sums.numpy()[:2, 1]


def whole_step(batch, noise=0.0):
    """Computes the kernel after a step on all rows at once, and the metrics."""
    kernel = tf.ones([3, 2])
    with tf.GradientTape() as tape:
        tape.watch(kernel)
        loss, metrics = Rivals().sums(batch["inputs"] @ kernel + noise, batch)
    gradient = tape.gradient(loss, kernel) / ROWS
    share = metrics["share"][0] / 64
    return (kernel - RATE * gradient).numpy(), np.array([loss / ROWS, share])


@pytest.mark.parametrize(
    ("replicas", "micro_batches", "use_xla"),
    [(2, 1, False), (2, 2, False), (1, 2, True)],
)
def test_the_gradients_are_those_of_the_whole_batch(
    batch, two_replicas, replicas, micro_batches, use_xla
):
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    strategy = two_replicas if replicas == 2 else one
    kernel, metrics = stepped(strategy, batch, micro_batches, use_xla)
    expected = whole_step(batch)
    np.testing.assert_allclose(kernel, expected[0], rtol=1e-5)
    np.testing.assert_allclose(metrics, expected[1], rtol=1e-6)


def test_both_passes_of_a_part_have_one_dropout(batch):
    """The weights are those of a gradient by the very outputs that were compared."""
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    step = tf.constant(0, tf.int64)
    fold_in = tf.random.experimental.stateless_fold_in
    seed = fold_in(fold_in([TrainerOptions.seed, 0], step), 0)
    noise = [tf.random.stateless_uniform([4, 2], fold_in(seed, i)) for i in range(2)]
    found, _ = stepped(one, batch, 2, noise=1.0)
    expected, _ = whole_step(batch, tf.concat(noise, axis=0))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
