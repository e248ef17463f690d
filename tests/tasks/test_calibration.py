"""Probabilities and thresholds that fit dev: `--calibrate`, `TextClassifier`."""

import json
import math
import shutil

import numpy as np
import pytest
import scipy.optimize
import sklearn.metrics

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.classification import run as command
from albert_tf.tasks.classification.calibration import best_thresholds
from albert_tf.tasks.classification.calibration import fitted_temperature
from albert_tf.tasks.registry import create_task
from tests.tasks.conftest import FINISHED
from tests.tasks.conftest import results

_LABELS = ("a", "b", "c")
_ONE = create_task("single_label", "t", labels=_LABELS)
_SEVERAL = create_task("multi_label", "t", labels=_LABELS)


@pytest.mark.parametrize("task", [_ONE, _SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 3.0])
def test_the_temperature_has_the_lowest_loss(task, temperature, caplog):
    # Divided, the logits give the right probabilities of the labels.
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 4, (600, 3)).astype(np.float32)
    shares = task.probabilities(np.float64(logits) / temperature)
    labels = (rng.random((600, 3)) < shares).astype(np.int32)
    if task is _ONE:
        labels = np.array([rng.choice(3, p=own) for own in shares], np.int32)
    found = fitted_temperature(labels, logits)

    def loss(own):
        return task.mean_loss(labels, np.float64(logits) / own)

    settings = {"method": "bounded", "options": {"xatol": 1e-9}}
    best = scipy.optimize.minimize_scalar(loss, bounds=(0.05, 20), **settings)
    assert found == pytest.approx(best.x, abs=1e-5)
    assert found == pytest.approx(temperature, rel=0.25)
    # Without a best one, probabilities stay.
    labels = np.arange(6) % 3
    for sign in (1, -1, 0):
        caplog.clear()
        assert fitted_temperature(labels, sign * np.eye(3)[labels]) == 1.0
        assert "No temperature calibrates these 6 rows" in caplog.text


def test_thresholds_have_the_highest_f1():
    rng = np.random.default_rng(1)
    labels = (rng.random((80, 3)) < [0.1, 0.5, 0.0]).astype(np.int32)
    shares = rng.random((80, 3)) * 0.4 + 0.3 * labels
    shares = np.float32(np.round(shares, 2))  # with ties
    found = best_thresholds(labels, shares)
    for column, threshold in enumerate(found[:2]):
        has, own = labels[:, column], shares[:, column]
        f1 = sklearn.metrics.f1_score
        best = max(f1(has, own > cut) for cut in {0, *own[own < 1]})
        assert f1(has, own > threshold) == best
        assert threshold == np.float32(threshold)
    assert found[2] == 0.5  # nobody has it
    perfect = np.float32([[0.9], [0.7], [0.2]])
    assert best_thresholds(np.array([[1], [1], [0]]), perfect) == (0.5,)
    assert best_thresholds(np.array([[1], [0]]), np.float32([[0.7], [0.7]])) == (0.5,)
    [lowest] = best_thresholds(np.array([[1], [1]]), np.float32([[0.25], [0.125]]))
    assert lowest == 0.0625
    above = np.nextafter(np.float32(0.7), np.float32(1))
    [between] = best_thresholds(np.array([[1], [0]]), np.array([[above], [0.7]], "f"))
    assert np.float32(0.7) <= between < above
    task = create_task("multi_label", "t", labels=_LABELS, thresholds=[0.0, 0.5, 0.99])
    assert task.thresholds == (0.0, 0.5, 0.99)
    not_shares = [0.5], [0.5, 0.5, 1.0], [0.5, 0.5, -0.1], [0.5, 0.5, 0]
    for damaged in (*not_shares, {"a": 0.5}, 0.5):
        with pytest.raises(ValueError, match="expected a share for each label"):
            create_task("multi_label", "t", labels=_LABELS, thresholds=damaged)


@pytest.mark.slow
def test_what_is_chosen_travels(saved_model, tmp_path):
    """In memory, saved, loaded and exported, all answers are the same."""
    classifier = albert_tf.TextClassifier(saved_model("multi_label"))
    words = ["good", "bad", "film", "plot", "very", "it"]
    names = np.array(["好", "坏", "plain"])
    texts = [f"{one} {other}" for one in words for other in words]
    rng = np.random.default_rng(2)
    labels = [list(names[rng.random(3) < 0.3]) or ["plain"] for _ in texts]
    facts = classifier.calibrate(texts, labels)
    assert facts["calibration_error"] < facts["calibration_error_before"]
    thresholds = classifier._task.thresholds
    scores = classifier.evaluate(texts, labels)
    assert scores["calibration_error"] == pytest.approx(facts["calibration_error"])
    answers = classifier.predict(texts)
    shares = np.array([list(own["probabilities"].values()) for own in answers])
    expected = [list(names[row > thresholds]) for row in shares]
    assert [own["labels"] for own in answers] == expected
    assert [list(names[row > 0.5]) for row in shares] != expected
    folder = tmp_path / "saved"
    classifier.save_pretrained(folder)
    info = json.loads((folder / "training_info.json").read_text())
    assert tuple(info["task"]["thresholds"]) == thresholds
    again = albert_tf.TextClassifier(folder)
    assert again.evaluate(texts, labels) == scores
    forms = [albert_tf.Predictor(folder)]
    for form in ("saved_model", "onnx"):
        options = ExportOptions(str(folder), str(tmp_path / form), format=form)
        forms.append(albert_tf.Predictor(export(options)))
    for predict in forms:
        found = predict(texts)
        assert [own["labels"] for own in found] == expected
        served = np.array([list(own["probabilities"].values()) for own in found])
        np.testing.assert_allclose(served, shares, atol=1e-5)
    again.fit(texts[:2], [["plain"]] * 2, epochs=1, verbose=0)
    assert again._task.thresholds == ()  # forgotten


@pytest.mark.slow
def test_what_is_not_calibrated(saved_model, flags, tmp_path):
    numbers = albert_tf.TextClassifier(saved_model("regression"))
    with pytest.raises(UserError, match="the task custom predicts numbers; leave it o"):
        numbers.calibrate(["good"], [1.0])
    folder = saved_model("classification", "bert")
    data = ["good", "bad"], ["no", "yes"]
    with_exits = albert_tf.TextClassifier(folder, exit_heads="shared")
    expected = albert_tf.TextClassifier(folder).evaluate(*data)
    assert with_exits.evaluate(*data) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(UserError, match="exit_heads=None to calibrate its answers"):
        with_exits.calibrate(*data)
    for name in ("train", "dev"):
        path = tmp_path / "data" / f"{name}.tsv"
        path.write_text("label\tsentence\n1\ta\n2\tit\n")
    for changes, message in (
        ({"early_exit": True}, "by which --early_exit lets a text leave; give one"),
        ({"label_kind": "regression"}, "task custom predicts numb"),
    ):
        with pytest.raises(UserError, match=message):
            flags(do_train=True, calibrate=True, **changes)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_finished_run_is_calibrated_once(
    flags, finished, tmp_path, caplog, monkeypatch
):
    caplog.set_level("INFO", "absl")
    other = shutil.copytree(finished, tmp_path / "other")
    path = finished / "model" / "training_info.json"
    before = results(flags(**FINISHED, do_eval=True))
    info = json.loads(path.read_text())
    run = {**FINISHED, "do_eval": True, "calibrate": True}
    after = results(flags(**run))
    told = json.loads(path.read_text())
    facts = told.pop("calibration")
    dev = info.pop("dev")
    assert told.pop("dev")["loss"] < dev["loss"]
    assert told == info
    errors = [scores["calibration_error"] for scores in (before, after)]
    names = ("calibration_error_before", "calibration_error")
    assert errors == pytest.approx([facts[name] for name in names], abs=1e-5)
    assert after["eval_loss"] < before["eval_loss"]
    assert after["eval_accuracy"] == before["eval_accuracy"]
    temperature = facts["temperature"]
    assert f"temperature {temperature:.3f}, expected calibration error" in caplog.text
    files = {path: path.read_bytes() for path in (finished / "model").iterdir()}
    assert results(flags(**run)) == after
    assert {path: path.read_bytes() for path in files} == files
    assert not math.isclose(temperature, 1, abs_tol=0.01)
    # Of several dev sets, as MNLI's, the first counts; their scores have prefixes.
    names = ("dev_matched", "dev_mismatched")
    monkeypatch.setattr(
        command, "of_role", lambda examples, _: dict.fromkeys(names, examples["dev"])
    )
    flags(**run, output_dir=other)
    told = json.loads((other / "model" / "training_info.json").read_text())
    assert told["dev"] == dev and told["calibration"] == facts
