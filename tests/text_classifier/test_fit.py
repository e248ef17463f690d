"""Fine-tuning on strings, as an estimator of scikit-learn's kind; its report."""

import json
import os
import pickle
import random

import keras
import numpy as np
import pytest
import sklearn.metrics
from sklearn import base
from sklearn.model_selection import cross_val_score

import albert_tf
from albert_tf import text_classifier
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly

pytestmark = pytest.mark.slow
_TEXTS = ["good film", "bad plot"] * 8
_SETTINGS = {"epochs": 15, "batch_size": 4, "learning_rate": 2e-3, "verbose": 0}


def _classifier(pretrained, **arguments):
    return albert_tf.TextClassifier(pretrained, max_length=12, **arguments)


@pytest.fixture(scope="module")
def moods(pretrained):
    """A classifier that has learned moods, and Keras' history of it."""
    classifier, labels = _classifier(pretrained), ["glad", "sad"]
    held_out = {"validation_data": (_TEXTS[:2], labels)}
    history = classifier.fit(_TEXTS, labels * 8, **held_out, **_SETTINGS)
    return classifier, history.history


@pytest.fixture
def asked(monkeypatch):
    """Notes the arguments of each `fit` by name; nothing is trained."""
    found = []

    def noted(model, examples, loss, **settings):
        found.append({"model": model, "examples": examples, **settings})

    monkeypatch.setattr(text_classifier, "fit", noted)
    return found


def test_it_learns_strings_and_answers_them(moods, tmp_path):
    classifier, history = moods
    assert history["accuracy"][-1] == history["val_accuracy"][-1] == 1.0
    assert history["loss"][-1] < history["loss"][0] - 0.2
    assert classifier.predict("good film")["label"] == "glad"
    assert classifier.predict(["bad plot", "good"])[0]["label"] == "sad"
    scores = classifier.evaluate(_TEXTS[:4], ["glad", "sad", "sad", "sad"])
    assert scores["accuracy"] == 0.75
    # A copy cuts texts where the model has learned them, as the original does.
    again, text = pickle.loads(pickle.dumps(classifier)), "good film " * 9 + "bad plot"
    assert again.predict(text) == classifier.predict(text)
    infos = [json.dumps(own.model.task_info()) for own in (again, classifier)]
    assert infos[0] == infos[1]
    # Keras' files keep loss and metric.
    classifier.model.save(tmp_path / "moods.keras")
    given = classifier.tokenizer(_TEXTS[:4]), np.array([0, 1, 1, 1])
    loaded = keras.models.load_model(tmp_path / "moods.keras")
    found = loaded.evaluate(*given, verbose=0, return_dict=True)
    assert found == pytest.approx({name: scores[name] for name in found})


def test_what_it_saves_answers_alike_and_to_the_command(moods, tmp_path):
    classifier, _ = moods
    expected = classifier.predict(["good film", "bad plot"])
    classifier.save_pretrained(tmp_path / "tuned")
    again = albert_tf.TextClassifier(tmp_path / "tuned")
    found = [answer["probabilities"] for answer in again.predict(_TEXTS[:2])]
    assert found == [pytest.approx(answer["probabilities"]) for answer in expected]
    argv = [f"--init_checkpoint={tmp_path / 'tuned'}", f"--output_dir={tmp_path / 'o'}"]
    argv += ["--do_predict", "--input_text=good film"]
    (tmp_path / "o").mkdir()
    run_repeatedly(parse(ClassifierOptions, ["run_classifier.py", *argv]))
    assert (tmp_path / "o" / "predictions.tsv").read_text().startswith("glad\t")


def test_pairs_are_remembered(pretrained, asked, tmp_path):
    classifier, pairs = _classifier(pretrained), {"text_pairs": ["it is", "film"]}
    classifier.fit(_TEXTS[:2], [10, 9], **pairs)
    assert classifier.model.labels == ("9", "10")
    assert asked[0]["examples"].labels.tolist() == [1, 0]
    classifier.save_pretrained(tmp_path)
    task = json.loads((tmp_path / "training_info.json").read_text())["task"]
    assert task["pair"] is True
    again = albert_tf.TextClassifier(tmp_path)
    again.fit(_TEXTS[:2], [1, "9"], **pairs)  # the labels are still those
    assert asked[1]["examples"].labels.tolist() == [1, 0]
    assert asked[1]["max_length"] == 12
    with pytest.raises(UserError, match=r"labels\[0\]: the label 'old' is unknown"):
        again.fit(_TEXTS[:1], ["old"], text_pairs=["film"])
    assert classifier.predict("bad plot", "film")["label"] in ("9", "10")
    with pytest.raises(UserError, match="takes text and text_pair, but got text"):
        classifier.predict("good film")
    with pytest.raises(UserError, match="has learned from pairs of texts"):
        classifier.evaluate(["good"], ["9"])


class Counted(keras.optimizers.SGD):
    """An optimizer that counts how often its step is traced."""

    traced = 0

    def apply(self, *arguments):
        self.traced += 1
        super().apply(*arguments)


def test_learning_on_says_what_was_learned_from(pretrained, tmp_path):
    """A model with labels alone may be of texts or of pairs."""
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(
        pretrained, labels=["no", "yes"]
    )
    model.save_pretrained(tmp_path, albert_tf.load_tokenizer(pretrained))
    classifier = albert_tf.TextClassifier(tmp_path)
    for given in (("good",), ("good", "film")):
        assert classifier.predict(*given)["label"] in ("no", "yes")
    optimizer = Counted(0.1, momentum=0.5)  # the default takes seconds to trace
    fitted = {"text_pairs": ["film"] * 3, "optimizer": optimizer, "batch_size": 1}
    classifier.fit(["good"] * 3, ["yes"] * 3, epochs=1, verbose=0, **fitted)
    assert optimizer.traced == 1
    with pytest.raises(UserError, match="takes text and text_pair, but got text"):
        classifier.predict("good")
    assert classifier.model.task_info()["task"]["pair"] is True


@pytest.mark.parametrize(
    ("kind", "labels", "encoded"),
    [
        ("multi_label", [["good"], ["bad", "old"]], [[0, 1, 0], [1, 0, 1]]),
        ("regression", [1.5, -1.5], [1.5, -1.5]),
    ],
)
def test_other_kinds(kind, labels, encoded, pretrained, asked, tmp_path):
    classifier = _classifier(pretrained, label_kind=kind)
    classifier.fit(_TEXTS[:2], labels)
    assert asked[0]["examples"].labels.tolist() == encoded
    assert len(asked[0]["metrics"]) == (kind == "multi_label")
    classifier.save_pretrained(tmp_path)
    scores = albert_tf.TextClassifier(tmp_path).evaluate(_TEXTS[:2], labels)
    assert scores == classifier.evaluate(_TEXTS[:2], labels)


def test_labels_by_number_and_settings(pretrained, asked):
    changes = {"labels": ["no", "yes"], "hidden_dropout_prob": 0.25}
    classifier = albert_tf.TextClassifier(pretrained, **changes)
    optimizer = keras.optimizers.SGD(0.0)
    classifier.fit(_TEXTS, np.array([1, 0] * 8), optimizer=optimizer, batch_size=3)
    [fitted] = asked
    assert fitted["examples"].labels.tolist() == [1, 0] * 8
    assert (fitted["optimizer"], fitted["batch_size"]) == (optimizer, 3)
    assert fitted["max_length"] == 32  # of the model; 128 where it has room
    assert classifier.model.config.hidden_dropout_prob == 0.25
    assert classifier.model.labels == ("no", "yes")
    before = classifier.evaluate(_TEXTS, [1, 0] * 8)
    assert before == pytest.approx(classifier.evaluate(_TEXTS, ["yes", "no"] * 8))


def test_iterators_are_read_once_and_wholly(pretrained, asked):
    labels, answers = ["glad", "sad"] * 8, []
    for read in (list, iter, np.array):
        classifier = _classifier(pretrained)
        given = read(_TEXTS), read(labels)
        held_out = read(_TEXTS[:4]), read(labels[:4]), read(_TEXTS[4:8])
        classifier.fit(*given, text_pairs=read(_TEXTS), validation_data=held_out)
        fitted = asked.pop()
        arrays = {**fitted["examples"].arrays(), "held": fitted["held_out"].ids}
        answers.append({name: own.tolist() for name, own in arrays.items()})
        scores = classifier.evaluate(*map(read, (_TEXTS[:4], labels[:4], _TEXTS[:4])))
        answers[-1].update(scores)
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]["labels"]) == 16


def test_the_seed_decides_the_head(pretrained, asked):
    states = random.getstate(), np.random.get_state()[1].tolist()
    for seed in (3, 3, 4):
        albert_tf.TextClassifier(pretrained).fit(_TEXTS, ["a", "b"] * 8, seed=seed)
    assert states == (random.getstate(), np.random.get_state()[1].tolist())
    heads = [fitted["model"].classifier.output_weights.numpy() for fitted in asked]
    np.testing.assert_array_equal(heads[0], heads[1])
    assert not np.allclose(heads[0], heads[2])
    assert [fitted["seed"] for fitted in asked] == [3, 3, 4]


def test_a_fork_says_that_it_cannot_answer(moods):
    """TensorFlow's threads are gone there, and a call would wait for them."""
    classifier, _ = moods
    calls = [
        lambda: classifier.predict("good film"),
        lambda: classifier.evaluate(["good film"], ["glad"]),
        lambda: classifier.model(np.ones((1, 3), np.int32)),
    ]
    read, write = os.pipe()
    if not os.fork():
        said = b""
        for call in calls:
            try:
                call()
            except UserError as error:
                said += f"{error}\n".encode()
        os.write(write, said)
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        lines = pipe.read().splitlines()
    os.wait()
    assert len(lines) == 3
    assert all(f"was forked from {os.getpid()}, where Tens" in line for line in lines)


_REVIEWS = ["a good film", "the plot was bad", "it is not good", "very bad .", "and it"]
_LABELS = ["yes", "no", "no", "yes", "yes"]


@pytest.fixture
def tuned(saved_model):
    """Opens a fine-tuned model of a kind."""
    return lambda kind: albert_tf.TextClassifier.from_pretrained(saved_model(kind))


def test_probabilities_score_and_report(tuned, tmp_path):
    classifier = tuned("classification")
    assert classifier.classes_.tolist() == ["no", "yes"]
    answers = classifier.predict(_REVIEWS)
    shares = classifier.predict_proba(np.array(_REVIEWS, object))
    expected = [[*answer["probabilities"].values()] for answer in answers]
    np.testing.assert_allclose(shares, expected, atol=1e-6)
    found = [answer["label"] for answer in answers]
    accuracy = sklearn.metrics.accuracy_score(_LABELS, found)
    assert classifier.score(_REVIEWS, _LABELS) == pytest.approx(accuracy)
    report = classifier.report(_REVIEWS, _LABELS)
    assert report.accuracy == pytest.approx(accuracy)
    confusion = sklearn.metrics.confusion_matrix(_LABELS, found)
    np.testing.assert_array_equal(report.confusion, confusion)
    scores = sklearn.metrics.precision_recall_fscore_support
    columns = scores(_LABELS, found, zero_division=0)
    for label, values in zip(("no", "yes"), zip(*columns, strict=True), strict=True):
        assert [*report.classes[label].values()] == pytest.approx(list(values))
    lines = str(report).splitlines()
    assert lines[0].split() == ["precision", "recall", "f1", "support"]
    assert [line.split()[0] for line in lines[1:4]] == ["no", "yes", "mean"]
    mean = np.mean(columns[2])
    assert lines[3].split()[3:] == [f"{mean:.3f}", "5"]
    assert lines[-1] == f"accuracy {accuracy:.3f}"
    for name in ("r.txt", "r.json", "r.html"):
        report.save(tmp_path / name)
    assert (tmp_path / "r.txt").read_text() == f"{report}\n"
    assert json.loads((tmp_path / "r.json").read_text()) == report.to_dict()
    page = (tmp_path / "r.html").read_text()
    assert page.count("<table>") == 2 and report._repr_html_() in page
    cells = "".join(f"<td><bdi>{own}</bdi></td>" for own in ("no", *confusion[0]))
    assert cells in page
    for name, message in (
        ("r.pdf", "r.pdf: expected a name that ends in .txt, "),
        ("r.png", "r.png: pictures need matplotlib: pip install 'albert-tf.plots.'"),
    ):
        with pytest.raises(UserError, match=message):
            report.save(tmp_path / name)


def test_several_labels(tuned, tmp_path):
    classifier = tuned("multi_label")
    labels = [["好"], ["坏", "plain"], [], ["plain"], ["好", "坏"]]
    found = [answer["labels"] for answer in classifier.predict(_REVIEWS)]
    names = classifier.classes_.tolist()
    truth, predicted = (
        np.array([[name in row for name in names] for row in rows])
        for rows in (labels, found)
    )
    expected = sklearn.metrics.accuracy_score(truth, predicted)
    assert classifier.score(_REVIEWS, labels) == pytest.approx(expected)
    report = classifier.report(_REVIEWS, labels)
    confusion = sklearn.metrics.multilabel_confusion_matrix(truth, predicted)
    np.testing.assert_array_equal(report.confusion, confusion)
    with pytest.raises(UserError, match="r.png: several labels per text have no pic"):
        report.save(tmp_path / "r.png")
    assert report._repr_html_().count("<table>") == 1


def test_numbers(tuned):
    classifier = tuned("regression")
    values = [1.0, 0.5, -1.0, 2.0, 0.0]
    found = [answer["score"] for answer in classifier.predict(_REVIEWS)]
    expected = sklearn.metrics.r2_score(values, found)
    assert classifier.score(_REVIEWS, values) == pytest.approx(expected, rel=1e-4)
    assert base.is_regressor(classifier) and not hasattr(classifier, "classes_")
    for method in (classifier.predict_proba, lambda t: classifier.report(t, values)):
        with pytest.raises(UserError, match="is for labels, but the model predicts nu"):
            method(_REVIEWS)


def test_cross_validation(pretrained):
    texts, labels = ["good film", "bad plot"] * 4, np.array([1, 0] * 4)
    classifier = albert_tf.TextClassifier(pretrained, max_length=12)
    settings = {"epochs": 8, "batch_size": 2, "learning_rate": 2e-3, "verbose": 0}
    evaluation = {"cv": 2, "params": settings, "error_score": "raise"}
    scores = cross_val_score(classifier, texts, labels, **evaluation)
    assert scores.tolist() == [1.0, 1.0]
    assert classifier.model is None  # copies have learned
    with pytest.raises(UserError, match="call fit first"):
        classifier.predict_proba(texts)
