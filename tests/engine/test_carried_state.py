"""State that batches hand on to the next one: a running sum of each row."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.device_loop import Stage
from albert_tf.engine.trainer import Trainer
from albert_tf.objectives.base import Objective
from albert_tf.optimizers import create_optimizer
from tests.engine.conftest import trainer_options

ROWS, STEPS = 4, 7


class RunningSum(Objective):
    """Predicts the next number of a row from the sum of those before."""

    loss_terms = ("square",)

    def __init__(self):
        """There are no terms."""

    def denominators(self, batch):
        return {"square": tf.reduce_sum(tf.ones_like(batch["numbers"]))}

    def first_carried(self, model, rows):
        return {"sums": tf.zeros([rows, 1])}

    def resumed(self, carried, batch):
        return {"sums": tf.where(batch["starts"][:, None], 0.0, carried["sums"])}

    def call_carrying(self, model, batch, training, dropout_seed):
        errors = model(batch["sums"])[:, 0] - batch["numbers"]
        sums = batch["sums"] + batch["numbers"][:, None]
        return {"square": tf.reduce_sum(tf.square(errors))}, {}, {"sums": sums}


def numbers():
    """Numbers `[steps, rows]`, one of them bad, and where rows start anew."""
    random = np.random.default_rng(0)
    values = random.normal(size=(STEPS, ROWS)).astype(np.float32)
    starts = np.zeros((STEPS, ROWS), bool)
    starts[[0, 2, 4], [0, 1, 3]] = True
    values[4, 2] = np.nan
    return values, starts


def sums_before(values, starts):
    """Computes each step's sums at its start, `[steps + 1, rows]`."""
    found = [np.zeros(ROWS, np.float32)]
    for value, start in zip(values, starts, strict=True):
        before = np.where(start, 0, found[-1])
        # A step that does not count carries nothing on, but a start remains one.
        found.append(before if np.isnan(value).any() else before + value)
    return np.array(found)


@pytest.fixture
def make(tmp_path, two_replicas):
    """Makes a trainer and its data."""

    def trainer(steps, replicas=1, micro_batches=1, folder="run", save=100):
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        strategy = two_replicas if replicas == 2 else strategy
        with strategy.scope():
            layer = keras.layers.Dense(1, kernel_initializer="ones")
            layer.build((None, 1))
            optimizer = create_optimizer("adamw", 0.1, 100)
        values, starts = numbers()
        data = {"numbers": values, "starts": starts, "input_ids": np.zeros_like(values)}
        dataset = tf.data.Dataset.from_tensor_slices(data).repeat()
        dataset = dataset.map(
            lambda batch: {k: tf.ensure_shape(v, [ROWS]) for k, v in batch.items()}
        )
        named = {"save_checkpoints_steps": save}
        options = trainer_options(tmp_path / folder, steps, **named)
        built = Trainer(layer, RunningSum(), optimizer, strategy, options)
        return built, [Stage(dataset, steps, micro_batches)]

    return trainer


def saved_sums(tmp_path, step, folder="run"):
    """Reads the sums in the checkpoint of a step."""
    place = tmp_path / folder / "checkpoints" / f"training-{step}"
    reader = tf.train.load_checkpoint(str(place))
    (name,) = [n for n in reader.get_variable_to_shape_map() if "carried" in n]
    return reader.get_tensor(name)[:, 0]


@pytest.mark.slow
def test_rows_hand_on_what_they_have_in_a_continued_run_too(
    make, tmp_path, killed_after
):
    whole, stages = make(STEPS, 2, 2, folder="whole", save=1)
    whole.train(stages)
    expected = sums_before(*numbers())
    for step in (3, 4, 6, 7):  # after step 5, which is bad, nothing is saved
        found = saved_sums(tmp_path, step, "whole")
        np.testing.assert_allclose(found, expected[step], rtol=1e-6)
    killed_after(3, "whole", "run")
    rest, stages = make(STEPS, 2, 2)
    rest.train(stages)
    for one, other in zip(whole.model.weights, rest.model.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(saved_sums(tmp_path, STEPS), found)
    # Without it, the next number is predicted from another sum.
    assert np.abs(expected[3]).min() > 0.01


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_evaluation_hands_on_too(make, replicas):
    trainer, _ = make(STEPS, replicas)
    values, starts = numbers()
    values, starts = np.nan_to_num(values), starts | (np.arange(STEPS) == 0)[:, None]
    before = np.where(starts, 0, sums_before(values, starts)[:-1])
    trainer.model.bias.assign([0.5])
    data = {"numbers": values, "starts": starts}
    dataset = tf.data.Dataset.from_tensor_slices(data)
    for _ in range(2):
        loss = trainer.evaluator.evaluate(dataset)["loss"]
        expected = np.mean((before + 0.5 - values) ** 2)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
