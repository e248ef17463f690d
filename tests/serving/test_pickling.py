"""Predictors in other processes: copies answer the same, or say why they cannot."""

import copy
import pickle
import shutil

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving.predictor import Predictor

_TEXTS = ["the film was very good .", "bad", "a good plot " * 9]


def twin(predictor):
    return pickle.loads(pickle.dumps(predictor))


@pytest.mark.slow
@pytest.mark.parametrize("make", [twin, copy.deepcopy])
def test_of_an_export(make, classifier, tmp_path, monkeypatch):
    """The copy opens the version that the original has, wherever it starts."""
    shutil.copytree(classifier.version, tmp_path / "m" / "1")
    monkeypatch.chdir(tmp_path)
    predictor = Predictor("m")
    shutil.copytree(classifier.version, tmp_path / "m" / "2")
    monkeypatch.chdir("/")
    again = make(predictor)
    assert again._directory == str(tmp_path / "m" / "1")
    np.testing.assert_equal(again.arrays(_TEXTS), predictor.arrays(_TEXTS))


@pytest.mark.slow
def test_of_a_model_in_memory(opened):
    served = opened("classification")
    model = served.model
    model.saved_task_info = {**model.saved_task_info, "max_seq_length": 9}
    predictor = Predictor(model, served.tokenizer)
    again = twin(predictor)
    np.testing.assert_equal(again.arrays(_TEXTS), predictor.arrays(_TEXTS))
    model.classifier.output_bias.assign([50.0, 0.0])
    assert {answer["label"] for answer in predictor(_TEXTS)} == {"no"}
    found = again.arrays(_TEXTS)["probabilities"]
    assert found.max() < 0.999  # its weights are its own


@pytest.mark.slow
@pytest.mark.parametrize("listed", [True, False])
def test_a_folder_that_changes_is_refused(listed, classifier, tmp_path):
    folder = shutil.copytree(classifier.folder, tmp_path / "m")
    if not listed:
        (folder / "SHA256SUMS").unlink()
    predictor = Predictor(folder, task="encoder")
    data = pickle.dumps(predictor)
    np.testing.assert_equal(pickle.loads(data).arrays("bad"), predictor.arrays("bad"))
    other = albert_tf.AlbertForSequenceClassification(
        classifier.model.config, labels=["no", "yes"]
    )
    other.save_pretrained(tmp_path / "other", classifier.tokenizer)
    for path in (tmp_path / "other").iterdir():
        if listed or path.name != "SHA256SUMS":
            shutil.copy(path, folder)
    with pytest.raises(UserError, match="m has changed since the Predictor opened it"):
        pickle.dumps(predictor)
    with pytest.raises(UserError, match="m has other files here than where the Pred"):
        pickle.loads(data)
    shutil.rmtree(folder)
    with pytest.raises(UserError, match="m has changed since the Predictor opened it"):
        copy.deepcopy(predictor)
    with pytest.raises(UserError, match=f"{folder}"):
        pickle.loads(data)
