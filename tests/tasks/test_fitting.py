"""Training by Keras: the optimizer, the batches and the steps of it."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tasks.fitting import TaskAccuracy
from albert_tf.tasks.fitting import TaskLoss
from albert_tf.tasks.fitting import fit
from albert_tf.tasks.registry import create_task
from tests.tasks.conftest import numbered_rows


class Noted:
    """A model that notes what it is to be trained with."""

    distribute_strategy = trainable_weights = None

    def compile(self, optimizer, loss, metrics):
        self.optimizer, self.metrics = optimizer, metrics
        optimizer.built = True

    def fit(self, batches, validation_data, **settings):
        self.settings = settings
        self.epochs = [_labels(batches) for _ in range(settings["epochs"])]
        self.held_out = validation_data and _labels(validation_data)
        return types.SimpleNamespace(params={})


def _labels(batches):
    return [labels.numpy().tolist() for _, labels in batches]


def _fitted(**changes):
    model = Noted()
    settings = {"max_length": 8, "epochs": 2, "batch_size": 4, "learning_rate": 1e-2}
    fit(model, numbered_rows([3] * 38), "mse", **{**settings, **changes})
    return model


def test_each_epoch_is_shuffled_by_the_seed():
    model = _fitted(seed=1, held_out=numbered_rows([3, 7, 2, 5, 4]))
    first, second = (sum(epoch, []) for epoch in model.epochs)
    assert sorted(first) == sorted(second) == list(range(38))
    assert first != second
    assert [len(batch) for batch in model.epochs[0]].count(4) == 9
    assert model.held_out == [[0, 1, 2, 3], [4]]
    assert model.settings == {"epochs": 2, "shuffle": False}
    assert _fitted(seed=1, callbacks=[]).epochs == model.epochs
    assert _fitted(seed=2).epochs != model.epochs


def test_the_rate_rises_for_a_tenth_of_the_steps():
    schedule = _fitted(epochs=4).optimizer._learning_rate  # 40 steps
    rates = [float(schedule(step)) for step in (0, 2, 4, 22, 40)]
    np.testing.assert_allclose(rates[:2], [0, 5e-3], atol=1e-8)
    assert rates[2] > rates[3] > rates[4] == pytest.approx(0, abs=1e-8)
    own = keras.optimizers.SGD(0.5)
    assert _fitted(optimizer=own).optimizer is own


@pytest.mark.parametrize("kind", ["multi_label", "regression"])
def test_losses_and_metrics_are_kept_with_their_task(kind):
    names = {"labels": ("a", "b")} if kind == "multi_label" else {}
    task = create_task(kind, "t", **names)
    outputs = np.float32([[1, -1], [2, 3]])[:, : task.num_outputs]
    labels = np.float32([[1, 0], [1, 0]]) if names else np.float32([2, 4])
    own = TaskLoss(task)
    again = TaskLoss.from_config(own.get_config())
    assert float(again(labels, outputs)) == float(own(labels, outputs))
    assert float(own(labels, outputs)) == pytest.approx(task.mean_loss(labels, outputs))
    if task.has_accuracy:
        metric = TaskAccuracy.from_config(TaskAccuracy(task).get_config())
        assert float(metric(tf.constant(labels), outputs)) == 0.5
