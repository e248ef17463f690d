"""Several heads on one encoder."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.registry import create_task
from tests.serving.answers import exported

Classifier = albert_tf.AlbertForSequenceClassification
_TEXTS = ["the film was very good .", "", "bad"]
_TASKS = {
    "mood": create_task("single_label", "mood", labels=("no", "yes")),
    "stars": create_task("regression", "stars"),
}


@pytest.fixture(scope="module")
def models(opened, tmp_path_factory):
    """Two models of one encoder by the folders in which run_classifier saves them."""
    source, folder = opened("encoder"), tmp_path_factory.mktemp("heads")
    found = {}
    for name, task in _TASKS.items():
        model = Classifier.from_pretrained(source.folder, num_labels=task.num_outputs)
        info = {"task": task.to_dict(), "max_seq_length": 24}
        # As run_classifier lays it out: the run is named, not the folder in it.
        found[folder / name / "model"] = model
        model.save_pretrained(folder / name / "model", source.tokenizer, info)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "dtype", "error"),
    [
        ("saved_model", "float32", 1e-5),
        ("onnx", "float32", 1e-5),
        ("onnx", "int8", 0.1),
    ],
)
def test_one_pass_gives_the_answers_of_each_model(
    form, dtype, error, models, tiny_tokenizer, tmp_path
):
    changes = {"format": form, "compute_dtype": dtype}
    version = exported(",".join(map(str, models)), tmp_path / "served", **changes)
    predictor = Predictor(version)
    found = predictor.arrays(_TEXTS)
    features = tiny_tokenizer(_TEXTS, padding=True)
    mood, stars = (model(features) for model in models.values())
    expected = {"mood_probabilities": tf.nn.softmax(mood), "stars_score": stars[:, 0]}
    assert found.keys() == {"mood_label", *expected}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=error)
    answer = predictor(_TEXTS[0])
    assert answer["mood"]["label"] == found["mood_label"][0]
    score = pytest.approx(found["stars_score"][0], abs=error)
    assert answer["stars"] == {"score": score}
    assert "stars: " in (version / "model_card.md").read_text()
    if form == "saved_model":
        saved = tf.train.list_variables(str(version / "variables/variables"))
        numbers = sum(np.prod(shape) for _, shape in saved)
        first, _ = models.values()
        assert numbers < 1.2 * first.count_params()  # one encoder


@pytest.mark.slow
def test_models_that_do_not_belong_together(
    models, saved_model, tiny_tokenizer, tmp_path
):
    def changed(name, **changes):
        """Saves the first model with another task; returns its folder."""
        task = dataclasses.replace(_TASKS["mood"], **changes)
        pooling = task.model_arguments()["window_pooling"]
        model = Classifier.from_pretrained(mood, window_pooling=pooling)
        info = {"task": task.to_dict(), "max_seq_length": 24}
        model.save_pretrained(tmp_path / name, tiny_tokenizer, info)
        return tmp_path / name

    mood = next(iter(models))
    for other, message in (
        (saved_model("pairs"), "have different encoders"),
        (saved_model("encoder"), "was not fine-tuned"),
        (saved_model("question_answering"), "cannot share its encoder"),
        (mood, "Two models of --model_dir are called 'mood'"),
        (changed("pairs", pair=True), "take different inputs"),
        (changed("ends", long_texts="head_tail"), "another part of long texts"),
        (changed("windows", long_texts="windows"), "reads texts in windows and can"),
    ):
        with pytest.raises(UserError, match=message):
            build_module([bundle.open(mood), bundle.open(other)])
