"""Strings in, answers out: from a name, a folder or a model in memory."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor

_TEXTS = ["the film was very good .", "bad", "a good plot, not a bad one . " * 9]
_PAIRS = ["it is", "", "good"]


def assert_same(answers, expected):
    pairs = zip(tf.nest.flatten(answers), tf.nest.flatten(expected), strict=True)
    for found, value in pairs:
        assert found == (
            value if isinstance(value, str) else pytest.approx(value, 1e-4)
        )


@pytest.fixture(scope="module")
def predictor(classifier):
    return Predictor(classifier.version.parent)


@pytest.mark.slow
def test_order_is_kept_whatever_the_batches(predictor):
    expected = predictor(_TEXTS)
    for batch_size in (1, 2):
        assert_same(predictor(_TEXTS, batch_size=batch_size), expected)
    assert_same([predictor(text) for text in _TEXTS], expected)
    assert list(expected[0]["probabilities"]) == ["no", "yes"]
    json.dumps(expected)
    assert predictor([]) == []
    with pytest.raises(UserError, match="batch_size=0: expected at least 1"):
        predictor(_TEXTS, batch_size=0)


@pytest.mark.slow
def test_a_damaged_export_is_one_sentence(classifier, tmp_path):
    folder = shutil.copytree(classifier.version, tmp_path / "1")
    path = folder / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="saved_model.pb is damaged"):
        Predictor(tmp_path)
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="1 holds no SavedModel that can be loaded"):
        Predictor(tmp_path)


@pytest.mark.slow
def test_pairs_by_place_and_by_name(pair_classifier):
    module = Predictor(pair_classifier.folder)
    exported = Predictor(pair_classifier.version)
    expected = exported(_TEXTS, _PAIRS)
    assert exported.inputs == ("text", "text_pair")
    assert_same(module(_TEXTS, _PAIRS), expected)
    assert_same(exported(text_pair=_PAIRS, text=_TEXTS), expected)
    assert_same(exported(_TEXTS[0], text_pair=_PAIRS[0]), expected[0])


@pytest.mark.slow
def test_labels_are_enough_and_pairs_are_free(classifier, tmp_path):
    """Nobody has said whether such a model was trained on pairs."""
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(
        classifier.folder, labels=["sad", "glad"]
    )
    model.save_pretrained(tmp_path, classifier.tokenizer)
    predictor = Predictor(tmp_path)
    for given in (_TEXTS[:1], (_TEXTS[0], _PAIRS[0])):
        logits = model(classifier.tokenizer(*given))[0].numpy()
        assert predictor(*given)["label"] == ("sad", "glad")[logits.argmax()]
        share = predictor(*given)["probabilities"]["glad"]
        assert share == pytest.approx(float(tf.nn.softmax(logits)[1]), abs=1e-5)


@pytest.mark.slow
def test_what_is_no_model(classifier, tmp_path):
    with pytest.raises(UserError, match="A model in memory needs its tokenizer"):
        Predictor(classifier.model)
    with pytest.raises(UserError, match="is an exported model, which brings its own"):
        Predictor(classifier.version, task="encoder")
    classifier.model.export(tmp_path / "keras", verbose=False)
    with pytest.raises(UserError, match="takes no strings; export the model directory"):
        Predictor(tmp_path / "keras")


@pytest.mark.slow
def test_a_classifier_without_labels_says_so(classifier, tmp_path):
    model = albert_tf.AlbertForSequenceClassification.from_pretrained(
        classifier.folder, num_labels=3
    )
    model.save_pretrained(tmp_path, classifier.tokenizer)
    with pytest.raises(UserError, match="does not say what its outputs mean; fine-tu"):
        Predictor(tmp_path)
    assert Predictor(tmp_path, task="encoder")("bad")["pooled_output"].shape == (32,)


@pytest.mark.slow
def test_nan_is_no_answer(classifier, tmp_path):
    """Every label is as probable then, and the first would be the answer."""
    model_class = albert_tf.AlbertForSequenceClassification
    model = model_class(classifier.model.config, labels=["no", "yes"])
    predictor = Predictor(model, classifier.tokenizer)
    model.official_variables()["output_bias"].assign([np.nan, 0.0])
    with pytest.raises(UserError, match="answers NaN to input 1: its weights"):
        predictor(_TEXTS)
    model.save_pretrained(tmp_path / "model", classifier.tokenizer)
    options = ExportOptions(str(tmp_path / "model"), str(tmp_path / "served"))
    for read in (Predictor, lambda path: export(options)):
        with pytest.raises(UserError, match="holds NaN or infinity in output_bias"):
            read(tmp_path / "model")
    assert not (tmp_path / "served").exists()
