"""Training with layers that compute in bfloat16 or float16."""

import numpy as np
import pytest

STEPS = 2


@pytest.fixture
def results_of(take_step):
    """Trains one step on rows with a loss scale; returns its metrics by name."""

    def run(trainer, rows, scale=None):
        if scale is not None:
            trainer._train_step.guard.state["loss_scale"].assign(scale)
        return {name: sums[0] for name, sums in take_step(trainer, rows).items()}

    return run


@pytest.mark.slow
def test_training_stays_close_to_float32(make_trainer, batches, weights):
    exact = make_trainer(STEPS, directory="exact")
    before = weights(exact)
    exact.train(batches())
    trainer = make_trainer(STEPS, dtype="mixed_bfloat16")
    trainer.train(batches())
    optimizer = trainer.optimizer
    kept = [*trainer.model.trainable_variables, *optimizer.first_moments]
    assert {v.dtype for v in [*kept, *optimizer.second_moments]} == {"float32"}
    found = weights(trainer)
    for name, value in weights(exact).items():
        # Weights move by 0.05 at most a step, signs of tiny gradients may differ.
        error = np.abs(found[name] - value).mean()
        if "key/bias" not in name:
            assert error < 0.3 * np.abs(value - before[name]).mean() + 1e-6, name


def moments_of(trainer):
    """The sizes of the moments of each variable's squared gradients."""
    return np.sqrt([np.sum(v.numpy()) for v in trainer.optimizer.second_moments])


@pytest.mark.slow
def test_the_scale_is_divided_out(make_trainer, rows, results_of):
    """Gradients far below float16's range arrive, whatever the scale.

    Weights alone would not tell: LAMB and Adam divide by the gradients' size.
    """
    exact = make_trainer(1)
    norm, moments = results_of(exact, rows)["gradient_norm"], moments_of(exact)
    half = make_trainer(1, dtype="mixed_float16")
    found = results_of(half, rows, 2.0**8)["gradient_norm"]
    np.testing.assert_allclose(found, norm, rtol=0.02)
    atol = 0.01 * moments.max()
    np.testing.assert_allclose(moments_of(half), moments, rtol=0.05, atol=atol)


@pytest.mark.slow
def test_an_overflow_skips_the_step_and_is_saved(
    make_trainer, rows, batches, weights, results_of
):
    trainer = make_trainer(1, dtype="mixed_float16", max_bad_steps=1)
    before = weights(trainer)
    results = results_of(trainer, rows, scale=2.0**40)
    assert (results["overflowed"], results["skipped"]) == (1.0, 0.0)
    assert np.isfinite(results["masked_lm_loss"])
    for name, value in weights(trainer).items():
        np.testing.assert_array_equal(value, before[name])
    trainer.train(batches())  # only saves: the one step is done
    again = make_trainer(2, dtype="mixed_float16", max_bad_steps=1)
    again.train(batches())
    assert float(again._train_step.guard.loss_scale) == 2.0**38
