"""Runs of several stages: other shapes of batches, one optimizer and schedule."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.device_loop import Stage
from albert_tf.errors import UserError

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
        result = []
        for data, size, last, count in (
            (short, 4, 3, micro_batches[0]),
            (rows, 8, 6, micro_batches[1]),
        ):
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
