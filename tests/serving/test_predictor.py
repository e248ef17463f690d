"""The in-process client."""

import numpy as np
import pytest

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
