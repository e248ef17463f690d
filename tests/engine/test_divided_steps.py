"""Steps of a linear model, divided among two replicas of two micro-batches each."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.strategies import replica_rows
from albert_tf.engine.train_step import TrainStep
from albert_tf.objectives.base import Objective
from albert_tf.optimizers.moments import MomentsOptimizer
from tests.engine.conftest import dense

RATE, DECAY, MOMENTUM, CLIP_NORM = 0.1, 0.02, 0.9, 0.5
STEPS = 2


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
        "inputs": random.normal(size=(8, 3)).astype(np.float32),
        "targets": random.normal(size=8).astype(np.float32),
        "weights": np.arange(8, dtype=np.float32),
    }


@pytest.fixture
def make_step(two_replicas):
    """Makes a `TrainStep` and a function that takes one step of 2 x 2 micro-batches."""

    def make():
        with two_replicas.scope():
            layer, optimizer = dense(1, 3, MomentumDescent(RATE, DECAY))
            options = TrainerOptions(
                output_dir="", num_train_steps=1, clip_norm=CLIP_NORM, use_xla=False
            )
            train_step = TrainStep(layer, SquaredError(), optimizer, options)

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
