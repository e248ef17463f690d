"""The results of several steps in one call."""

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
    np.testing.assert_allclose(totals, expected, rtol=1e-6)
    assert sizes.tolist() == [3 * 8, 3 * 8 * 7]
    assert loop.step == alone.step == 3
