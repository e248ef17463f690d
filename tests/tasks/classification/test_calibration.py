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
from albert_tf.tasks.classification.calibration import best_thresholds
from albert_tf.tasks.classification.calibration import fitted_temperature
from albert_tf.tasks.registry import create_task
from tests.serving.served import ask
from tests.serving.served import serving
from tests.tasks.conftest import FINISHED

_LABELS = ("a", "b", "c")
_ONE = create_task("single_label", "t", labels=_LABELS)
_SEVERAL = create_task("multi_label", "t", labels=_LABELS)


def drawn(task, temperature, rows=600):
    """Logits, and labels that they give the right probabilities of when divided."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 4, (rows, 3)).astype(np.float32)
    shares = task.probabilities(np.float64(logits) / temperature)
    if task.kind == "multi_label":
        return (rng.random((rows, 3)) < shares).astype(np.int32), logits
    return np.array([rng.choice(3, p=own) for own in shares], np.int32), logits


@pytest.mark.parametrize("task", [_ONE, _SEVERAL], ids=["one", "several"])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 3.0])
def test_the_temperature_has_the_lowest_loss(task, temperature):
    labels, logits = drawn(task, temperature)
    found = fitted_temperature(labels, logits)

    def loss(own):
        return task.mean_loss(labels, np.float64(logits) / own)

    best = scipy.optimize.minimize_scalar(
        loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-9}
    )
    assert found == pytest.approx(best.x, abs=1e-5)
    assert found == pytest.approx(temperature, rel=0.25)


@pytest.mark.parametrize("sign", [1, -1, 0])
def test_without_a_best_temperature_probabilities_stay(sign, caplog):
    labels = np.arange(6) % 3
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
        best = max(
            sklearn.metrics.f1_score(has, own > cut) for cut in {0, *own[own < 1]}
        )
        assert sklearn.metrics.f1_score(has, own > threshold) == best
        assert threshold == np.float32(threshold)
    assert found[2] == 0.5  # nobody has it
    perfect = np.float32([[0.9], [0.7], [0.2]])
    assert best_thresholds(np.array([[1], [1], [0]]), perfect) == (0.5,)
    equal = np.float32([[0.7], [0.7]])
    assert best_thresholds(np.array([[1], [0]]), equal) == (0.5,)


def test_a_threshold_lies_between_neighbours():
    below = np.float32(0.7)
    above = np.nextafter(below, np.float32(1))
    [found] = best_thresholds(np.array([[1], [0]]), np.array([[above], [below]]))
    assert below <= found < above


@pytest.mark.parametrize(
    "thresholds", [[0.5], [0.5, 0.5, 1.0], [0.5, 0.5, "0.5"], {"a": 0.5}, 0.5]
)
def test_damaged_thresholds(thresholds):
    with pytest.raises(ValueError, match="expected a share for each label"):
        create_task("multi_label", "t", labels=_LABELS, thresholds=thresholds)


def test_a_file_of_before_has_none():
    fields = _SEVERAL.to_dict()
    assert "thresholds" not in fields
    assert _SEVERAL.predictions(np.array([[0.1, -0.1, 0.0]])).tolist() == [[1, 0, 0]]


@pytest.fixture
def calibrated(saved_model, tmp_path):
    """A classifier of several labels with thresholds that matter, and its texts."""
    folder = shutil.copytree(saved_model("multi_label"), tmp_path / "start")
    classifier = albert_tf.TextClassifier(folder)
    words = ["good", "bad", "film", "plot", "very", "it"]
    texts = [f"{one} {other}" for one in words for other in words]
    rng = np.random.default_rng(2)
    labels = [
        [n for n in ("好", "坏", "plain") if rng.random() < 0.3] or ["plain"]
        for _ in texts
    ]
    facts = classifier.calibrate(texts, labels)
    return classifier, texts, labels, facts


@pytest.mark.slow
def test_what_is_chosen_travels(calibrated, tmp_path):
    """In memory, saved, loaded, exported and served, all answers are the same."""
    classifier, texts, labels, facts = calibrated
    assert facts["calibration_error"] < facts["calibration_error_before"]
    thresholds = classifier._task.thresholds
    assert set(thresholds) != {0.5}
    scores = classifier.evaluate(texts, labels)
    assert scores["calibration_error"] == pytest.approx(facts["calibration_error"])
    answers = classifier.predict(texts)
    shares = np.array([list(own["probabilities"].values()) for own in answers])
    names = np.array(["好", "坏", "plain"])
    expected = [list(names[row > thresholds]) for row in shares]
    assert [own["labels"] for own in answers] == expected
    halves = [list(names[row > 0.5]) for row in shares]
    assert halves != expected

    classifier.save_pretrained(tmp_path / "saved")
    info = json.loads((tmp_path / "saved" / "training_info.json").read_text())
    assert tuple(info["task"]["thresholds"]) == thresholds
    again = albert_tf.TextClassifier(tmp_path / "saved")
    assert again.evaluate(texts, labels) == scores
    forms = [albert_tf.Predictor(tmp_path / "saved")]
    for form in ("saved_model", "onnx"):
        options = ExportOptions(
            str(tmp_path / "saved"), str(tmp_path / form), format=form
        )
        forms.append(albert_tf.Predictor(export(options)))
    for predict in forms:
        found = predict(texts)
        assert [own["labels"] for own in found] == expected
        served = np.array([list(own["probabilities"].values()) for own in found])
        np.testing.assert_allclose(served, shares, atol=1e-5)
    with serving(forms[1]) as port:
        _, answer, *_ = ask(port, ":predict", {"inputs": texts})
    labels = [[*filter(None, row)] for row in answer["outputs"]["labels"]]
    assert labels == expected
    np.testing.assert_allclose(answer["outputs"]["probabilities"], shares, atol=1e-5)


@pytest.mark.slow
def test_learning_again_forgets_thresholds(calibrated):
    classifier, texts, labels, _ = calibrated
    classifier.fit(texts, labels, epochs=1, verbose=0)
    assert classifier._task.thresholds == ()


@pytest.mark.slow
def test_an_xlnet_is_calibrated(saved_model):
    classifier = albert_tf.TextClassifier(saved_model("classification", "xlnet"))
    texts, labels = ["good", "bad", "good film", "not"], ["no", "yes", "yes", "no"]
    before = classifier.evaluate(texts, labels)["loss"]
    temperature = classifier.calibrate(texts, labels)["temperature"]
    after = classifier.evaluate(texts, labels)["loss"]
    assert temperature == 1 or after < before


def test_numbers_are_not_calibrated(saved_model):
    classifier = albert_tf.TextClassifier(saved_model("regression"))
    with pytest.raises(UserError, match="the task custom predicts numbers; leave it o"):
        classifier.calibrate(["good"], [1.0])


@pytest.mark.slow
def test_exit_heads_are_scored_and_not_calibrated(saved_model):
    folder, data = (
        saved_model("classification", "bert"),
        (["good", "bad"], ["no", "yes"]),
    )
    with_exits = albert_tf.TextClassifier(folder, exit_heads="shared")
    expected = albert_tf.TextClassifier(folder).evaluate(*data)
    assert with_exits.evaluate(*data) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(UserError, match="exit_heads=None to calibrate its answers"):
        with_exits.calibrate(*data)


def _results(out):
    lines = (out / "eval_results.txt").read_text().splitlines()
    return {key: float(value) for key, value in (line.split(" = ") for line in lines)}


@pytest.mark.slow
def test_a_finished_run_is_calibrated_once(flags, finished, caplog):
    caplog.set_level("INFO", "absl")
    before = _results(flags(**FINISHED, do_eval=True))
    info = json.loads((finished / "model" / "training_info.json").read_text())
    run = {**FINISHED, "do_eval": True, "calibrate": True}
    after = _results(flags(**run))
    told = json.loads((finished / "model" / "training_info.json").read_text())
    facts = told.pop("calibration")
    assert told.pop("dev")["loss"] < info.pop("dev")["loss"]
    assert told == info
    for scores, name in (
        (before, "calibration_error_before"),
        (after, "calibration_error"),
    ):
        assert scores["calibration_error"] == pytest.approx(facts[name], abs=1e-5)
    assert after["eval_loss"] < before["eval_loss"]
    assert after["eval_accuracy"] == before["eval_accuracy"]
    assert f"temperature {facts['temperature']:.3f}, expected calibration error" in (
        caplog.text
    )
    files = {path: path.read_bytes() for path in (finished / "model").iterdir()}
    assert _results(flags(**run)) == after
    assert {path: path.read_bytes() for path in files} == files
    assert not math.isclose(facts["temperature"], 1, abs_tol=0.01)


@pytest.mark.slow
def test_a_run_of_several_labels_uses_its_thresholds(flags, finished, tmp_path):
    shutil.rmtree(finished)
    for name in ("train", "dev", "test"):
        path = tmp_path / "data" / f"{name}.tsv"
        lines = path.read_text().splitlines()
        words = [{"good", "film", "it"} & {*line.split()} for line in lines]
        tags = ["tags", *map("|".join, map(sorted, words[1:]))]
        rows = map("\t".join, zip(lines, tags, strict=True))
        path.write_text("\n".join(rows) + "\n")
    run = {**FINISHED, "label_kind": "multi_label", "label_column": "tags"}
    out = flags(**run, calibrate=True, do_eval=True, do_predict=True)
    info = json.loads((out / "model" / "training_info.json").read_text())
    thresholds = info["task"]["thresholds"]
    assert set(thresholds) != {0.5}
    lines = (out / "test_results.tsv").read_text().splitlines()
    shares = np.array([line.split("\t")[1:] for line in lines[1:]], np.float32)
    names = np.array(lines[0].split("\t")[1:])
    expected = ["|".join(names[row > thresholds]) for row in shares]
    found = [
        line.split("\t")[1]
        for line in (out / "submit_results.tsv").read_text().splitlines()[1:]
    ]
    assert found == expected
    again = {"do_eval": True, "label_kind": "multi_label", "label_column": "tags"}
    scores = _results(out)
    assert scores["f1"] == _results(flags(**again))["f1"]
    text = (tmp_path / "data" / "test.tsv").read_text().splitlines()[1].split("\t")[1]
    flags(do_predict=True, task_name=None, data_dir=None, input_text=text)
    assert (out / "predictions.tsv").read_text() == f"{expected[0]}\t{text}\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"do_train": None, "do_eval": True},
            "completes a training; add --do_train: the same",
        ),
        ({"early_exit": True}, "by which --early_exit lets a text leave; give one"),
        (
            {"label_kind": "regression", "label_column": "n"},
            "task custom predicts numb",
        ),
    ],
)
def test_what_cannot_be_calibrated(flags, tmp_path, changes, message):
    for name in ("train", "dev"):
        (tmp_path / "data" / f"{name}.tsv").write_text("n\tsentence\n1\tfilm\n2\tit\n")
    with pytest.raises(UserError, match=message):
        flags(**{"do_train": True, "calibrate": True, **changes})
    assert not (tmp_path / "out").exists()
