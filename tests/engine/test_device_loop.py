"""Several steps in one call, stages of a run, and what batches hand to the next."""

import itertools
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.device_loop import Stage
from albert_tf.engine.trainer import Trainer
from albert_tf.errors import UserError
from albert_tf.objectives.base import Objective
from albert_tf.optimizers import create_optimizer
from tests.engine.conftest import trainer_options


def test_results_and_sizes_are_sums_over_the_steps(make_linear_trainer, batches):
    """Of batches of 8 rows of 7 tokens, in the order of the data."""
    loop, alone = (make_linear_trainer(3, name) for name in ("loop", "alone"))
    stage = Stage(batches(), 3)
    stage.begin(loop.objective, loop.model, loop.strategy)
    totals, sizes = loop._device_loop.run(stage, 3)
    step = tf.function(lambda batch: alone.strategy.run(alone._train_step, (batch,)))
    expected = sum(step(batch).numpy() for batch in batches().take(3))
    np.testing.assert_allclose(totals, expected, rtol=1e-5)
    assert sizes.tolist() == [3 * 8, 3 * 8 * 7]
    assert loop.step == alone.step == 3


def test_the_best_time_of_a_step_after_one_that_compiles(
    make_linear_trainer, batches, monkeypatch
):
    """Looks at the clock begin and end each loop: 1, 9, 6 and 8 seconds of 2 steps."""
    moments = itertools.accumulate([0, 1, 5, 9, 5, 6, 5, 8])
    fake = types.SimpleNamespace(monotonic=lambda: next(moments))
    monkeypatch.setattr("albert_tf.engine.trainer.time", fake)
    trainer = make_linear_trainer(9)
    assert trainer.seconds_per_step(Stage(batches(), 9), 3, steps=2) == 3.0
    assert trainer.step == 4 * 2


STEPS = 6


@pytest.fixture
def stages(rows):
    """Makes a stage of 5 tokens and 4 rows for 3 steps, and one of 7 tokens and 8."""

    def make(micro_batches=(1, 2)):
        tf.random.set_seed(0)
        short = {
            name: value[:, :5] if name.startswith(("input", "segment")) else value
            for name, value in rows.items()
        }
        short["masked_lm_positions"] = short["masked_lm_positions"] % 5
        shapes = zip((short, rows), (4, 8), (3, 6), micro_batches, strict=True)
        result = []
        for data, size, last, count in shapes:
            dataset = tf.data.Dataset.from_tensor_slices(data).shuffle(16, seed=size)
            dataset = dataset.repeat().batch(size, drop_remainder=True)
            result.append(Stage(dataset, last, count))
        return result

    return make


def test_each_stage_reads_its_own_data_in_a_continued_run_too(
    make_linear_trainer, stages, killed_after, lines
):
    """The run equals one whose steps are fed by hand."""
    whole = make_linear_trainer(STEPS, directory="whole", save_checkpoints_steps=4)
    whole.train(stages((1, 1)))
    by_hand = make_linear_trainer(STEPS, directory="by hand")
    for stage in stages():
        for batch in stage.dataset.take(3):
            by_hand.strategy.run(by_hand._train_step, (batch,))
    assert whole.step == by_hand.step == STEPS
    killed_after(4, "whole", "stopped")
    rest = make_linear_trainer(STEPS, directory="stopped")
    rest.train(stages((1, 1)))
    assert any(line.startswith("Continuing at step 4 ") for line in lines)
    trained = (trainer.model.weights for trainer in (whole, rest, by_hand))
    for one, continued, other in zip(*trained, strict=True):
        np.testing.assert_array_equal(continued, one)
        np.testing.assert_allclose(other, one, atol=1e-6)


def test_every_stage_must_divide(make_trainer, stages):
    with pytest.raises(UserError, match="batch size 8 does not divide into 3 equal"):
        make_trainer(STEPS).train(stages(micro_batches=(1, 3)))


ROWS, NUMBERS = 4, 7


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
    values = random.normal(size=(NUMBERS, ROWS)).astype(np.float32)
    starts = np.zeros((NUMBERS, ROWS), bool)
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
        folder = tmp_path / folder
        options = trainer_options(folder, steps, save_checkpoints_steps=save)
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
    whole, stages = make(NUMBERS, 2, 2, folder="whole", save=1)
    whole.train(stages)
    expected = sums_before(*numbers())
    for step in (3, 4, 6, 7):  # after step 5, which is bad, nothing is saved
        found = saved_sums(tmp_path, step, "whole")
        np.testing.assert_allclose(found, expected[step], rtol=1e-6)
    killed_after(3, "whole", "run")
    rest, stages = make(NUMBERS, 2, 2)
    rest.train(stages)
    for one, other in zip(whole.model.weights, rest.model.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(saved_sums(tmp_path, NUMBERS), found)
    # Without it, the next number is predicted from another sum.
    assert np.abs(expected[3]).min() > 0.01


@pytest.mark.parametrize("replicas", [1, 2])
def test_an_evaluation_hands_on_too(make, replicas):
    trainer, _ = make(NUMBERS, replicas)
    values, starts = numbers()
    values, starts = np.nan_to_num(values), starts | (np.arange(NUMBERS) == 0)[:, None]
    before = np.where(starts, 0, sums_before(values, starts)[:-1])
    trainer.model.bias.assign([0.5])
    data = {"numbers": values, "starts": starts}
    dataset = tf.data.Dataset.from_tensor_slices(data)
    for _ in range(2):
        loss = trainer.evaluator.evaluate(dataset)["loss"]
        expected = np.mean((before + 0.5 - values) ** 2)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
