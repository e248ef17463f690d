"""Today's encoders, from a Hugging Face directory to answers and files of all kinds."""

import json

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf import bundle
from albert_tf.models.question_answering import second_text
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor

_TEXTS = ["the cat sat on the mat", "the dog didn't bark", "a cat", "HE'S the one"] * 3
_LABELS = ["cat", "dog", "cat", "dog"] * 3
_FORMS = {"saved_model": {}, "onnx": {"format": "onnx"}}


_NIGHTLY = ("distilbert", "electra", "xlm-roberta")
_FAMILIES = [
    "modernbert",
    *(pytest.param(f, marks=pytest.mark.nightly) for f in _NIGHTLY),
]


@pytest.fixture(scope="module", params=_FAMILIES)
def written(request, saved_model, tmp_path_factory):
    """A Hugging Face directory of a language model, and its `model_type`."""
    folder = tmp_path_factory.mktemp(request.param)
    opened = bundle.open(saved_model("pretraining", request.param))
    # Released XLM-Rs hold the pooler beside the language model.
    is_xlm = request.param == "xlm-roberta"
    model_class = albert_tf.AlbertModel if is_xlm else albert_tf.AlbertForMaskedLM
    model = opened.model(model_class)
    model.save_pretrained(folder, opened.tokenizer(), format="huggingface")
    return folder, request.param


@pytest.mark.slow
def test_a_classifier_and_its_files(written, tmp_path):
    folder, family = written
    entries = json.loads((folder / "config.json").read_text())
    tokenizer = albert_tf.load_tokenizer(folder)
    assert (entries["model_type"], entries["pad_token_id"]) == (
        family,
        tokenizer.pad_id,
    )
    classifier = albert_tf.TextClassifier(folder)
    classifier.fit(_TEXTS, _LABELS, epochs=1, batch_size=4)
    logits = classifier.model(classifier.tokenizer(_TEXTS[:4]))
    expected = keras.ops.softmax(logits)
    classifier.save_pretrained(tmp_path / "model")
    for name, options in _FORMS.items():
        source, target = str(tmp_path / "model"), str(tmp_path / name)
        version = export(ExportOptions(source, target, **options))
        found = Predictor(version).arrays(_TEXTS[:4])["probabilities"]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_second_texts_after_one_separator():
    ids = np.array([[2, 5, 3, 7, 8, 3, 0], [2, 3, 6, 3, 0, 0, 0]])
    found = second_text(ids, np.int32(ids > 0), between=1)
    assert np.array(found).tolist() == [[0, 0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 0, 0]]
