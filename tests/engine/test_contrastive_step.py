"""Steps whose loss compares all rows, divided among replicas and micro-batches."""

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

_ROWS, _LARGE = 8, 3 * 2**24  # numbers that float32 does not hold


class Descent(MomentsOptimizer):
    """Stochastic gradient descent."""

    def direction(self, index, gradient, moments, step):
        return gradient, {}


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


@pytest.fixture
def batch():
    random = np.random.default_rng(0)
    labels = np.array([0, 1, 2, 0, 1, 3, 0, 2], np.int32)
    return {
        "inputs": random.normal(size=(_ROWS, 3)).astype(np.float32),
        "labels": labels + np.int32(_LARGE),
    }


def stepped(strategy, batch, micro_batches, use_xla=False, noise=0.0):
    """Returns the kernel after a step, and the metrics."""
    with strategy.scope():
        layer, optimizer = dense(2, 3, Descent(0.1, 0.0))
        options = TrainerOptions(
            output_dir="", num_train_steps=1, clip_norm=1e9, use_xla=use_xla
        )
        step = step_of(layer, RivalObjective(noise), optimizer, options)
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
    gradient = tape.gradient(loss, kernel) / _ROWS
    share = metrics["share"][0] / 64
    return (kernel - 0.1 * gradient).numpy(), np.array([loss / _ROWS, share])


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


def test_others_are_summed():
    layer, optimizer = dense(2, 3, Descent(0.1, 0.0))
    options = TrainerOptions(output_dir="", num_train_steps=1, use_xla=False)
    step = step_of(layer, Objective([Rivals()]), optimizer, options)
    assert type(step) is TrainStep
