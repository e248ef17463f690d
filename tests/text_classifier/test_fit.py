"""Fine-tuning on strings."""

import json
import os
import pickle
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly

_TEXTS = ["good film", "bad plot"] * 8
_SETTINGS = {"epochs": 15, "batch_size": 4, "learning_rate": 1e-2, "verbose": 0}


@pytest.fixture(scope="module")
def moods(pretrained):
    """A classifier that has learned moods, and Keras' history of it."""
    classifier = albert_tf.TextClassifier(pretrained, max_length=12)
    assert classifier.model is None
    history = classifier.fit(
        _TEXTS,
        ["glad", "sad"] * 8,
        validation_data=(_TEXTS[:2], ["glad", "sad"]),
        **_SETTINGS,
    )
    return classifier, history.history


@pytest.mark.slow
def test_it_learns_strings_and_answers_them(moods):
    classifier, history = moods
    assert history["accuracy"][-1] == history["val_accuracy"][-1] == 1.0
    assert history["loss"][-1] < history["loss"][0] - 0.2
    assert classifier.predict("good film")["label"] == "glad"
    labels = [answer["label"] for answer in classifier.predict(["bad plot", "good"])]
    assert labels[0] == "sad"
    scores = classifier.evaluate(_TEXTS[:4], ["glad", "sad", "sad", "sad"])
    assert scores["accuracy"] == 0.75
    logits = classifier.model(classifier.tokenizer("good film"))[0].numpy()
    shares = np.exp(logits) / np.exp(logits).sum()
    found = classifier.predict("good film")["probabilities"]
    np.testing.assert_allclose([found["glad"], found["sad"]], shares, atol=1e-5)


@pytest.mark.slow
def test_a_copy_answers_the_same(moods):
    """It cuts texts where the model has learned them, as the original does."""
    classifier, _ = moods
    text = "good film " * 9 + "bad plot"
    expected = classifier.predict(text)
    again = pickle.loads(pickle.dumps(classifier))
    assert again.predict(text) == expected
    infos = [c.model.task_info() for c in (again, classifier)]
    assert json.dumps(infos[0]) == json.dumps(infos[1])


@pytest.mark.slow
def test_what_it_saves_knows_task_and_labels(moods, pretrained, tmp_path):
    classifier, _ = moods
    expected = classifier.predict(["good film", "bad plot"])
    classifier.save_pretrained(tmp_path / "tuned")
    export(ExportOptions(str(tmp_path / "tuned"), str(tmp_path / "served")))
    for path in ("tuned", "served"):
        answers = albert_tf.Predictor(tmp_path / path)(["good film", "bad plot"])
        assert [answer["label"] for answer in answers] == ["glad", "sad"]
    again = albert_tf.TextClassifier(tmp_path / "tuned")
    found = [answer["probabilities"] for answer in again.predict(_TEXTS[:2])]
    assert found == [pytest.approx(answer["probabilities"]) for answer in expected]
    argv = [f"--init_checkpoint={tmp_path / 'tuned'}", f"--output_dir={tmp_path / 'o'}"]
    argv += ["--do_predict", "--input_text=good film"]
    (tmp_path / "o").mkdir()
    run_repeatedly(parse(ClassifierOptions, ["run_classifier.py", *argv]))
    written = (tmp_path / "o" / "predictions.tsv").read_text()
    assert written.startswith("glad\t")
    again.fit(_TEXTS[:2], [1, 0], epochs=1, verbose=0)  # the labels are still those
    assert again.predict("good film")["probabilities"].keys() == {"glad", "sad"}
    with pytest.raises(UserError, match=r"labels\[0\]: the label 'old' is unknown"):
        again.fit(["good"], ["old"])


@pytest.mark.slow
def test_pairs_are_remembered(pretrained, tmp_path):
    classifier = albert_tf.TextClassifier(pretrained, max_length=12)
    pairs = ["it is", "film"] * 8
    classifier.fit(_TEXTS, [10, 9] * 8, text_pairs=pairs, **_SETTINGS)
    assert classifier.model.labels == ("9", "10")
    assert classifier.predict("good film", "it is")["label"] == "10"
    classifier.save_pretrained(tmp_path)
    task = json.loads((tmp_path / "training_info.json").read_text())["task"]
    assert task["pair"] is True
    assert albert_tf.Predictor(tmp_path)("bad plot", "film")["label"] == "9"
    with pytest.raises(UserError, match="takes text and text_pair, but got text"):
        classifier.predict("good film")
    with pytest.raises(UserError, match="has learned from pairs of texts"):
        classifier.evaluate(["good"], ["9"])


@pytest.mark.slow
def test_learning_on_says_what_was_learned_from(pretrained, tmp_path):
    """A model with labels alone may be of texts or of pairs."""
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(
        pretrained, labels=["no", "yes"]
    )
    model.save_pretrained(tmp_path, albert_tf.load_tokenizer(pretrained))
    classifier = albert_tf.TextClassifier(tmp_path)
    for given in (("good",), ("good", "film")):
        assert classifier.predict(*given)["label"] in ("no", "yes")
    classifier.fit(["good"], ["yes"], text_pairs=["film"], epochs=1, verbose=0)
    with pytest.raises(UserError, match="takes text and text_pair, but got text"):
        classifier.predict("good")
    assert classifier.model.task_info()["task"]["pair"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        ("multi_label", [["good"], ["bad", "old"]], {"labels": ["good"]}),
        ("regression", [1.5, -1.5], {"score": pytest.approx(1.5, abs=0.3)}),
    ],
)
def test_other_kinds(kind, labels, expected, pretrained, tmp_path):
    classifier = albert_tf.TextClassifier(pretrained, label_kind=kind, max_length=12)
    classifier.fit(_TEXTS, labels * 8, **{**_SETTINGS, "epochs": 40})
    answer = classifier.predict("good film")
    assert expected.items() <= answer.items()
    classifier.save_pretrained(tmp_path)
    again = albert_tf.TextClassifier(tmp_path)
    assert expected.items() <= again.predict("good film").items()
    scores = again.evaluate(_TEXTS[:2], labels)
    assert scores["loss"] < 0.2


@pytest.mark.slow
def test_labels_by_number_and_settings(pretrained):
    classifier = albert_tf.TextClassifier(
        pretrained, labels=["no", "yes"], hidden_dropout_prob=0.25
    )
    optimizer = keras.optimizers.SGD(0.0)
    classifier.fit(
        _TEXTS, np.array([1, 0] * 8), optimizer=optimizer, epochs=1, verbose=0
    )
    assert classifier.model.optimizer is optimizer
    assert classifier.model.config.hidden_dropout_prob == 0.25
    assert classifier.model.labels == ("no", "yes")
    before = classifier.evaluate(_TEXTS, [1, 0] * 8)
    assert before == pytest.approx(classifier.evaluate(_TEXTS, ["yes", "no"] * 8))


@pytest.mark.slow
def test_iterators_are_read_once_and_wholly(moods, pretrained):
    labels, found = ["glad", "sad"] * 8, []
    for read in (list, iter):
        classifier = albert_tf.TextClassifier(pretrained, max_length=12)
        given = read(_TEXTS), read(labels)
        history = classifier.fit(
            *given,
            validation_data=(read(_TEXTS), read(labels)),
            **{**_SETTINGS, "epochs": 1},
        )
        found.append(history.history)
    assert found[0] == found[1]
    moods, _ = moods
    assert moods.predict(iter(_TEXTS[:3])) == moods.predict(_TEXTS[:3])
    scores = moods.evaluate(iter(_TEXTS[:4]), iter(labels[:4]))
    assert scores == moods.evaluate(np.array(_TEXTS[:4]), tuple(labels[:4]))


class Counted(keras.optimizers.SGD):
    """An optimizer that counts how often its step is traced."""

    traced = 0

    def apply(self, *arguments):
        self.traced += 1
        super().apply(*arguments)


@pytest.mark.slow
def test_one_seed_decides_and_the_step_is_traced_once(pretrained):
    found = []
    settings = {"epochs": 1, "batch_size": 4, "verbose": 0}
    for seed in (3, 3, 4):
        classifier = albert_tf.TextClassifier(pretrained)
        optimizer = Counted(0.1, momentum=0.5)  # the default takes seconds to trace
        labels = ["a", "b"] * 8
        classifier.fit(_TEXTS, labels, seed=seed, optimizer=optimizer, **settings)
        assert optimizer.traced == 1
        found.append(classifier.model.classifier.output_weights.numpy())
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.allclose(found[0], found[2])


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_randomness_elsewhere_is_left_alone(moods, pretrained):
    """Another fold neither resets the user's generators nor ends earlier models."""
    classifier, _ = moods
    expected = classifier.predict(_TEXTS[:2])
    drawn = []
    for fits in (False, True):
        keras.utils.set_random_seed(5)
        if fits:
            fold = albert_tf.TextClassifier(pretrained, max_length=12)
            fold.fit(_TEXTS, ["glad", "sad"] * 8, seed=9, **_SETTINGS)
        sources = (random.random, np.random.rand, lambda: keras.random.uniform(()))
        drawn.append(
            [float(draw()) for draw in (*sources, lambda: tf.random.uniform(()))]
        )
    assert drawn[0] == drawn[1]
    assert classifier.predict(_TEXTS[:2]) == expected


@pytest.mark.slow
def test_a_fork_says_that_it_cannot_answer(moods):
    """TensorFlow's threads are gone there, and a call would wait for them."""
    classifier, _ = moods
    classifier.predict("good film")
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


@pytest.mark.slow
def test_keras_files_keep_loss_and_metric(moods, tmp_path):
    classifier, _ = moods
    path = tmp_path / "moods.keras"
    classifier.model.save(path)
    loaded = keras.models.load_model(path)
    features = classifier.tokenizer(_TEXTS[:4])
    labels = np.array([0, 1, 1, 1])
    scores = loaded.evaluate(features, labels, verbose=0, return_dict=True)
    expected = classifier.model.evaluate(features, labels, verbose=0, return_dict=True)
    assert scores == pytest.approx(expected)
    assert scores["accuracy"] == 0.75
