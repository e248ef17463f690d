"""Fine-tuning on several devices and by several processes."""

import numpy as np
import pytest

import albert_tf
from albert_tf.tasks import training
from albert_tf.tasks.commands import run


def weights(out):
    """Of the best and of the last checkpoint, which are one and the same here."""
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(out / "model")
    return {name: v.numpy() for name, v in model.official_variables().items()}


@pytest.mark.slow
@pytest.mark.usefixtures("graphs_optimized")  # as the workers' are
def test_two_workers_equal_two_devices(
    flags, command_line, workers, two_replicas, monkeypatch, tmp_path
):
    several = {"do_train": True, "do_eval": True, "do_predict": True, "train_step": 2}
    with monkeypatch.context() as patch:
        patch.setattr(run, "strategy_from", lambda _: two_replicas)
        flags(output_dir=tmp_path / "mirrored", **several)
    command = command_line(distribution_strategy="multi_worker", **several)
    with workers("run_classifier.py", command) as (processes, logs):
        pass
    assert [p.returncode for p in processes] == [0, 0], logs[0].read_text()
    expected = weights(tmp_path / "mirrored")
    for name, value in weights(tmp_path / "out").items():
        if "key/bias" not in name:  # its gradient is rounding noise
            np.testing.assert_allclose(value, expected[name], atol=1e-6, err_msg=name)
    for name in ("eval_results.txt", "submit_results.tsv"):
        found, one = ((tmp_path / d / name).read_text() for d in ("out", "mirrored"))
        assert found == one
    assert "eval_accuracy" in logs[0].read_text()
    assert "eval_accuracy" not in logs[1].read_text()


def test_a_worker_that_does_not_write_reports_nothing(flags, monkeypatch, tmp_path):
    monkeypatch.setattr(run.FineTuning, "run", lambda *arguments: False)
    flags(do_train=True, do_eval=True, train_step=1, num_runs=2)
    assert not list(tmp_path.glob("out/**/eval_results.txt"))
    assert not (tmp_path / "out" / "runs.json").exists()


def test_on_a_tpu_every_batch_has_the_full_length(built, monkeypatch):
    assert built()[-1] is None
    monkeypatch.setattr(training, "is_tpu", lambda strategy: True)
    assert built()[-1] == 16
