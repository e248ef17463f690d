"""Reports of a run, and that looking does not change it."""

import importlib.metadata
import pathlib
import re
import sys
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.engine.reporting import reporter
from albert_tf.engine.reporting.reporter import versions
from albert_tf.engine.reporting.summaries import StepProfiler
from albert_tf.engine.reporting.summaries import histogram
from albert_tf.engine.train_step import VARIABLE_STATISTICS

STEPS = 4


def summaries(trainer):
    """Returns `{tag: {step: array}}` of the training."""
    found = {}
    for path in pathlib.Path(trainer.options.output_dir, "train").iterdir():
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                array = tf.make_ndarray(value.tensor)
                found.setdefault(value.tag, {})[event.step] = array
    return found


@pytest.mark.slow
def test_statistics_of_the_variables_and_speeds(make_trainer, batches, weights):
    """Of the weights before the step, and the gradients before they are clipped."""
    speeds = {"flops_per_token": lambda tokens: 1e5 * tokens, "peak_flops": 1e9}
    trainer = make_trainer(1, histogram_steps=1, **speeds)
    before = weights(trainer)
    trainer.train(batches())
    found = {tag: values[1] for tag, values in summaries(trainer).items()}
    for name in VARIABLE_STATISTICS:
        scalars = [tag for tag in found if tag.startswith(f"{name}/")]
        assert found[f"variables/{name}"][:, 2].sum() == len(scalars)
    norms = [value for tag, value in found.items() if tag.startswith("gradient_norm/")]
    assert len(norms) == len(trainer.model.trainable_variables)
    np.testing.assert_allclose(np.linalg.norm(norms), found["gradient_norm"], rtol=1e-5)
    for name, value in before.items():
        norm = found[f"weight_norm/{name}"]
        np.testing.assert_allclose(norm, np.linalg.norm(value), rtol=1e-5)
        adapted = not re.search("LayerNorm|bias", name)
        assert (f"trust_ratio/{name}" in found) == adapted
        if adapted:
            assert found[f"trust_ratio/{name}"] > 0
    rate = found["steps_per_second"]  # of batches of 8 rows of 7 tokens
    np.testing.assert_allclose(found["sequences_per_second"], 8 * rate, rtol=1e-5)
    np.testing.assert_allclose(found["tokens_per_second"], 56 * rate, rtol=1e-5)
    share = 56 * rate * 7e5 / 1e9
    np.testing.assert_allclose(found["model_flop_utilisation"], share, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("graphs_optimized")
def test_looking_changes_no_bit_of_a_large_batch(make_trainer, rows, weights):
    """TensorFlow optimizes what is around a step with it, if it may."""
    dataset = tf.data.Dataset.from_tensor_slices(rows).repeat()
    dataset = dataset.batch(128, drop_remainder=True)
    found = []
    for name, interval in (("looking", 1), ("plain", 0)):
        model = {"dtype": "mixed_bfloat16", "hidden_size": 16, "directory": name}
        trainer = make_trainer(STEPS, histogram_steps=interval, **model)
        trainer.train(dataset)
        found.append(weights(trainer))
    for path, value in found[1].items():
        np.testing.assert_array_equal(found[0][path], value, err_msg=path)


def test_a_histogram_counts_what_is_finite():
    buckets = histogram([0.0, 1.0, 1.0, 3.0, np.nan, np.inf])
    assert buckets.shape == (30, 3)
    assert buckets[:, 2].sum() == 4
    assert (buckets[0, 0], buckets[-1, 1]) == (0.0, 3.0)
    (middle,) = buckets[buckets[:, 2] == 2]
    assert middle[0] <= 1.0 <= middle[1]


@pytest.mark.slow
def test_a_range_of_steps_is_traced_up_to_the_end_of_the_run(
    make_linear_trainer, batches
):
    options = {"profile_steps": "3:100", "flops_per_token": lambda tokens: 1.0}
    trainer = make_linear_trainer(STEPS, **options)
    trainer.train(batches())
    found = summaries(trainer)
    assert set(found["loss"]) == {2, 3, 4}  # loops of 2, the second cut at 3
    # Of the last step: a warm-up from 0 in 2 steps to 0.05, and a decay in 100.
    rates = {2: 0.025, 3: 0.05 * 0.98, 4: 0.05 * 0.97}
    assert found["learning_rate"] == pytest.approx(rates)
    # The device's peak is unknown.
    assert "model_flop_utilisation" not in found
    profile = pathlib.Path(trainer.options.output_dir, "profile")
    (trace,) = profile.rglob("*.xplane.pb")
    assert trace.stat().st_size > 0


def test_a_trace_begins_and_ends_at_its_steps(monkeypatch):
    calls, profiler = [], tf.profiler.experimental
    monkeypatch.setattr(profiler, "start", calls.append)
    monkeypatch.setattr(profiler, "stop", lambda: calls.append("stop"))
    own = StepProfiler("run", (7, 9))
    for begin, end in ((0, 7), (7, 8), (8, 9), (9, 12)):
        own.before_loop(begin)
        calls.append(begin)
        own.after_loop(end)
    own.stop()
    assert calls == [0, "run/profile", 7, 8, "stop", 9]


@pytest.mark.parametrize(
    ("every", "traced", "stops"),
    [
        # A step with statistics is a loop of its own.
        (5, (7, 9), [4, 4, 4, 4, 5, 7, 7, 9, 9, 10, 12, 12]),
        (5, None, [4, 4, 4, 4, 5, 9, 9, 9, 9, 10, 12, 12]),
        (1, None, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        (0, (7, 9), [7] * 7 + [9] * 2 + [12] * 3),
        (0, None, [12] * 12),
    ],
)
def test_where_loops_stop(every, traced, stops):
    own = types.SimpleNamespace(
        _options=types.SimpleNamespace(num_train_steps=12, histogram_steps=every),
        _profiler=StepProfiler("run", traced),
    )
    found = [reporter.RunReporter.next_stop(own, step) for step in range(12)]
    assert found == stops
    wanted = [s for s in range(12) if reporter.RunReporter.wants_statistics(own, s)]
    assert wanted == (list(range(12)[every - 1 :: every]) if every else [])


def test_results_in_a_few_words():
    results = {"loss": 1.23456, "masked_lm_loss": 0.5, "length_loss": 0.25}
    results |= {"masked_lm_accuracy": 0.125, "gradient_norm": 2.0, "skipped": 0.0}
    results |= {"learning_rate": 0.00025, "sequences_per_second": 1234.56}
    results["tokens_per_second"] = 56789.4
    expected = ["loss 1.235", "MLM 0.5 (12.5% right)", "length 0.25"]
    rates = ["gradient norm 2", "learning rate 0.00025", "1,235 sequences/s"]
    rates.append("56,789 tokens/s")
    assert reporter._notes(results) == [*expected, *rates]
    results |= {"skipped": 0.5, "model_flop_utilisation": 0.4567}
    skipped = "50.0% of the steps skipped as not finite"
    assert reporter._notes(results) == [*expected, skipped, *rates, "MFU 45.7%"]


def test_any_tensorflow_package_will_do(monkeypatch):
    """On a TPU it is called tensorflow-tpu, and keras-nightly comes with the next."""
    installed = {"tensorflow-text-nightly": "2.99"}

    def from_name(name):
        if name in installed:
            return types.SimpleNamespace(version=installed[name])
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata.Distribution, "from_name", from_name)
    # Not installed, and not imported before.
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    found = versions()
    assert found["tensorflow-text"] == "2.99"
    assert (found["tensorflow"], found["keras"]) == (tf.__version__, keras.__version__)
    installed.clear()
    assert versions()["tensorflow-text"] is None
