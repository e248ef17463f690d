"""Few labels: pairs of texts, and the linear head."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import albert_tf
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.classification import few_shot
from albert_tf.tasks.classification import run
from albert_tf.tasks.metrics import softmax
from tests.tasks.conftest import APPLIED


def test_pairs():
    labels = np.array([0, 0, 1, 1, 2])
    pairs, scores = few_shot.contrastive_pairs(labels, seed=0)
    assert pairs.shape == (5 * 40, 2)
    first, second = pairs.T
    np.testing.assert_array_equal(scores, labels[first] == labels[second])
    assert first[first == second].tolist() == [4] * 20  # the only one of its label
    assert set(second[first == 0]) == {1, 2, 3, 4}
    with pytest.raises(UserError, match="all texts have the same; give texts of two"):
        few_shot.contrastive_pairs(np.array([1, 1]), seed=0)


@pytest.mark.parametrize("num_labels", [2, 3])
def test_the_head_is_that_of_scikit_learn(num_labels):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(30, 6))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = random.integers(0, num_labels, 30)
    theirs = LogisticRegression(tol=1e-8, max_iter=10_000).fit(vectors, labels)
    weights, bias = few_shot.logistic_regression(vectors, labels, num_labels)
    found = softmax(vectors @ weights.T + bias)
    np.testing.assert_allclose(found, theirs.predict_proba(vectors), atol=1e-5)


_WORDS = ["good", "very", "bad", "not"]
_TEXTS = [f"the {noun} is {own}" for own in _WORDS for noun in ("film", "plot")]
_LABELS = ["glad"] * 4 + ["sad"] * 4


@pytest.fixture
def encoder(saved_model):
    return saved_model("encoder")


@pytest.mark.slow
def test_a_classifier_in_python(encoder, tmp_path):
    classifier = albert_tf.TextClassifier(encoder, few_shot=True)
    history = classifier.fit(_TEXTS, _LABELS, epochs=1, learning_rate=1e-3, verbose=0)
    assert history.params["steps"] == 8 * 40 / 16
    assert classifier.evaluate(_TEXTS, _LABELS)["accuracy"] >= 0.75
    features = classifier.tokenizer(_TEXTS)
    expected = classifier.model(features).numpy()
    vectors = classifier.model.albert(features)["sequence_output"].numpy()
    vectors = (vectors * features["input_mask"][..., None]).sum(1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = np.repeat([0, 1], 4)
    weights, bias = few_shot.logistic_regression(vectors, labels, 2)
    np.testing.assert_allclose(expected, vectors @ weights.T + bias, atol=1e-4)
    classifier.save_pretrained(tmp_path / "saved")
    again = AlbertForSequenceClassification.from_pretrained(tmp_path / "saved")
    np.testing.assert_allclose(again(features), expected, atol=1e-6)
    answers = albert_tf.Predictor(tmp_path / "saved")(_TEXTS)
    labels = np.array(["glad", "sad"])[expected.argmax(axis=1)]
    assert [answer["label"] for answer in answers] == labels.tolist()
    with pytest.raises(UserError, match="has a place for pooling='mean'"):
        again.save_pretrained(tmp_path / "theirs", format="huggingface")


def test_pairs_and_dropout_follow_from_the_seed(encoder, monkeypatch):
    found = []

    def fit(vectors, pairs, loss, **fitting):
        outputs = vectors(classifier.tokenizer(_TEXTS), training=True)
        found.append((outputs.numpy(), pairs.labels, pairs.starts))
        raise KeyboardInterrupt

    monkeypatch.setattr(few_shot, "fit", fit)
    for seed in (0, 0, 1):
        changes = {"few_shot": True, "hidden_dropout_prob": 0.3}
        classifier = albert_tf.TextClassifier(encoder, **changes)
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(_TEXTS, _LABELS, seed=seed)
    for one, same in zip(*found[:2], strict=True):
        np.testing.assert_array_equal(one, same)
    assert all((found[0][i] != found[2][i]).any() for i in (0, 2))


@pytest.mark.slow
def test_the_command(flags, encoder, monkeypatch, tmp_path):
    lines = [f"{label}\t{text}" for text, label in zip(_TEXTS, _LABELS, strict=True)]
    for role in ("train", "dev", "test"):
        table = "\n".join(["label\tsentence", *lines]) + "\n"
        (tmp_path / "data" / f"{role}.tsv").write_text(table)
    asked = {**APPLIED, "init_checkpoint": encoder, "few_shot": True, "do_train": True}
    out = flags(**asked, do_eval=True, num_train_epochs=1.5, learning_rate=1e-3)
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["step"] == 40  # of two whole epochs
    scores = (out / "eval_results.txt").read_text()
    assert f"eval_accuracy = {info['dev']['accuracy']}" in scores
    asked_of = []
    monkeypatch.setattr(run, "learn_from_few", lambda *_, **own: asked_of.append(own))
    with pytest.raises(AttributeError):  # there is no history
        flags(**asked, train_batch_size=4)
    assert (asked_of[0]["epochs"], asked_of[0]["batch_size"]) == (1, 4)
    untrained = {"from_scratch": True, "init_checkpoint": None}
    for changes, message in (
        ({"distribution_strategy": "mirrored"}, "leave --distribution_strategy=mirro"),
        ({"teacher": "x"}, "learns labels alone; leave --teacher out"),
        (untrained, "learns labels alone; leave --from_scratch out"),
    ):
        with pytest.raises(UserError, match=message):
            flags(**{**asked, **changes})


def test_what_it_does_not_take(encoder, saved_model):
    classifier = albert_tf.TextClassifier(encoder, few_shot=True)
    for arguments, message in (
        ({"sample_weight": [1.0] * 8}, "texts, which have no weights"),
        ({"validation_split": 0.5}, "few_shot takes no validation data"),
    ):
        with pytest.raises(UserError, match=message):
            classifier.fit(_TEXTS, _LABELS, **arguments)
    with pytest.raises(UserError, match="one label for each text, not multi_label"):
        albert_tf.TextClassifier(encoder, label_kind="multi_label", few_shot=True)
    with pytest.raises(UserError, match="few_shot needs an ALBERT, a BERT or a RoBER"):
        albert_tf.TextClassifier(saved_model("encoder", "xlnet"), few_shot=True)
