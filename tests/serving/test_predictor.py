"""The in-process client."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.building import build_module
from albert_tf.serving.predictor import Predictor

_TEXTS = ["the film was very good .", "bad", "a good plot"]


def test_order_is_kept_whatever_the_batches(classifier):
    predictor = Predictor(classifier.export_dir)
    expected = predictor(_TEXTS)
    for batch_size in (1, 2):
        answers = predictor(_TEXTS, batch_size=batch_size)
        np.testing.assert_allclose(
            answers["probabilities"], expected["probabilities"], atol=1e-6
        )
        assert answers["label"].tolist() == expected["label"].tolist()


def test_highest_version_or_the_one_named(classifier, tmp_path):
    for name in ("2", "10", "notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "10").rmdir()
    (tmp_path / "10").symlink_to(classifier.version)
    for path in (tmp_path, classifier.version):
        assert Predictor(path)(["good"])["label"].shape == (1,)


def test_the_example_request_has_the_same_bytes_in_every_export(classifier):
    signatures = json.loads((classifier.version / "signature.json").read_text())
    request = signatures["signatures"]["examples"]["rest"]["request"]["inputs"]
    data = request["examples"][0].encode()
    example = tf.train.Example.FromString(data)
    assert len(example.features.feature) == 3
    assert example.SerializeToString(deterministic=True) == data


@pytest.mark.parametrize("listed", [True, False])
def test_a_damaged_export_is_one_sentence(classifier, tmp_path, listed):
    folder = shutil.copytree(classifier.version, tmp_path / "1")
    path = folder / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-100])
    message = "saved_model.pb is damaged"
    if not listed:
        (folder / "SHA256SUMS").unlink()
        message = f"{folder} holds no SavedModel that can be loaded"
    with pytest.raises(UserError, match=message):
        Predictor(tmp_path)


def test_module_in_memory_answers_like_the_export(pair_classifier):
    module, _, _ = build_module(pair_classifier.model_dir)
    pairs = ["it is", "", "good"]
    answers = Predictor.from_module(module)(_TEXTS, pairs)
    expected = Predictor(pair_classifier.export_dir)(_TEXTS, pairs)
    np.testing.assert_allclose(
        answers["probabilities"], expected["probabilities"], atol=1e-6
    )


def test_wrong_columns_are_one_clear_error(classifier, pair_classifier, tmp_path):
    with pytest.raises(UserError, match="takes text, but text and text_pair"):
        Predictor(classifier.export_dir)(_TEXTS, _TEXTS)
    with pytest.raises(UserError, match="takes text and text_pair, but text"):
        Predictor(pair_classifier.export_dir)(_TEXTS)
    with pytest.raises(UserError, match="as many texts as pairs"):
        Predictor(pair_classifier.export_dir)(_TEXTS, _TEXTS[:2])
    with pytest.raises(UserError, match="as many texts as pairs"):
        Predictor(classifier.export_dir)([])
    with pytest.raises(UserError, match="put it in a list"):
        Predictor(classifier.export_dir)("good")
    with pytest.raises(UserError, match="batch_size=0: expected at least 1"):
        Predictor(classifier.export_dir)(_TEXTS, batch_size=0)
    with pytest.raises(UserError, match="holds no exported model"):
        Predictor(tmp_path)
