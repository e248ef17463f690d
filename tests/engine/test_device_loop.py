"""The results of several steps in one call, and their time."""

import itertools
import types

import numpy as np
import tensorflow as tf

from albert_tf.engine.device_loop import Stage


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
