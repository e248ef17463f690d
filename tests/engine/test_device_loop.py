"""Several steps in one call: their results, their time, and runs of several stages."""

import itertools
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.device_loop import Stage
from albert_tf.errors import UserError


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
