"""Fine-tuning on strings."""

import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.classification.run import classify

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_PIECES = [*_SPECIAL, "good", "bad", "film", "plot", "好", "it", "is"]
_TEXTS = ["good film", "bad plot"] * 8
_SETTINGS = {"epochs": 15, "batch_size": 4, "learning_rate": 1e-2, "verbose": 0}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    (folder / "vocab.txt").write_text("\n".join(_PIECES) + "\n")
    config = albert_tf.AlbertConfig(
        vocab_size=len(_PIECES),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=0.2,
    )
    keras.utils.set_random_seed(1)
    tokenizer = albert_tf.load_tokenizer(folder / "vocab.txt")
    albert_tf.AlbertModel(config).save_pretrained(folder, tokenizer)
    return folder


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
    classify(parse(ClassifierOptions, ["run_classifier.py", *argv]))
    written = (tmp_path / "o" / "predictions.tsv").read_text()
    assert written.startswith("glad\t")
    again.fit(_TEXTS[:2], [1, 0], epochs=1, verbose=0)  # the labels are still those
    assert again.predict("good film")["probabilities"].keys() == {"glad", "sad"}
    with pytest.raises(UserError, match=r"labels\[0\]: the label 'old' is unknown"):
        again.fit(["good"], ["old"])


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


@pytest.mark.usefixtures("nothing_converted")
def test_one_seed_decides(pretrained):
    found = []
    for seed in (3, 3, 4):
        classifier = albert_tf.TextClassifier(pretrained)
        classifier.fit(_TEXTS, ["a", "b"] * 8, seed=seed, epochs=1, verbose=0)
        found.append(classifier.model.classifier.output_weights.numpy())
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.allclose(found[0], found[2])


@pytest.mark.parametrize(
    ("arguments", "data", "message"),
    [
        ({}, (["a"], ["x", "y"]), "one label .* for each text; got 1, 2"),
        ({}, ([], []), "The labels are none; expected at least 2 different ones"),
        ({}, (["a", "b"], ["x", "x"]), "The labels are x; expected at least 2"),
        ({}, (["a", "b"], "xy"), "labels must be a list with a label for each text"),
        ({}, (["a", "b"], [0.5, 1.0]), r"labels\[0\]: expected the name of a label"),
        ({}, (["a", "b"], [None, 1]), r"labels\[0\]: expected the name of a label"),
        ({}, (["a", 1], ["x", "y"]), r"texts\[1\] must be a str, got int"),
        ({"labels": ["x", "y"]}, (["a"], [2]), r"labels\[0\]: there is no label 2"),
        ({"label_kind": "regression"}, (["a"], ["x"]), r"labels\[0\]: .*not a number"),
        (
            {"label_kind": "regression", "labels": ["x"]},
            (["a"], [1.0]),
            "label_kind='regression' has no labels",
        ),
    ],
)
def test_wrong_data(arguments, data, message, pretrained):
    with pytest.raises(UserError, match=message):
        albert_tf.TextClassifier(pretrained, **arguments).fit(*data, verbose=0)


def test_wrong_beginnings(pretrained, tmp_path):
    with pytest.raises(UserError, match="There is no directory nowhere; name a model"):
        albert_tf.TextClassifier("nowhere")
    with pytest.raises(UserError, match="label_kind='binary': expected one of single"):
        albert_tf.TextClassifier(pretrained, label_kind="binary")
    classifier = albert_tf.TextClassifier(pretrained, max_length=33)
    with pytest.raises(UserError, match="max_length=33: expected 5 to 32, the number"):
        classifier.fit(["a", "b"], ["x", "y"])
    with pytest.raises(UserError, match="was not fine-tuned for labels; call fit"):
        albert_tf.TextClassifier(pretrained).predict("good")
