"""Several heads on one encoder."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.registry import create_task

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
        model = AlbertForSequenceClassification.from_pretrained(
            source.folder, num_labels=task.num_outputs
        )
        info = {"task": task.to_dict(), "max_seq_length": 24}
        # As run_classifier lays it out: the run is named, not the folder in it.
        found[folder / name / "model"] = model
        model.save_pretrained(folder / name / "model", source.tokenizer, info)
    return found


@pytest.fixture(scope="module")
def reading(opened):
    """Saves a model of `_TASKS` as one that reads long texts otherwise."""

    def save(source, long_texts, folder):
        task = dataclasses.replace(_TASKS[source.parent.name], long_texts=long_texts)
        pooling = task.model_arguments()["window_pooling"]
        model = AlbertForSequenceClassification.from_pretrained(
            source, window_pooling=pooling
        )
        info = {"task": task.to_dict(), "max_seq_length": 24}
        model.save_pretrained(folder, opened("encoder").tokenizer, info)
        return folder

    return save


@pytest.mark.slow
def test_one_pass_gives_the_answers_of_each_model(models, tiny_tokenizer, tmp_path):
    options = ExportOptions(",".join(map(str, models)), str(tmp_path / "served"))
    version = export(options)
    predictor = Predictor(version)
    found = predictor.arrays(_TEXTS)
    features = tiny_tokenizer(_TEXTS, padding=True)
    mood, stars = (model(features) for model in models.values())
    expected = {"mood_probabilities": tf.nn.softmax(mood), "stars_score": stars[:, 0]}
    assert found.keys() == {"mood_label", *expected}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, atol=1e-5)
    answer = predictor(_TEXTS[0])
    assert answer["mood"]["label"] == found["mood_label"][0]
    assert answer["stars"] == {"score": pytest.approx(found["stars_score"][0])}
    saved = tf.train.list_variables(str(version / "variables/variables"))
    numbers = sum(np.prod(shape) for _, shape in saved)
    first, _ = models.values()
    assert numbers < 1.2 * first.count_params()  # one encoder
    card = (version / "model_card.md").read_text()
    assert "stars: " in card


@pytest.mark.slow
def test_models_that_do_not_belong_together(
    models, saved_model, reading, tiny_tokenizer, tmp_path
):
    def together(*directories):
        build_module([*map(bundle.open, directories)])

    mood = next(iter(models))
    for kind, message in (
        ("pairs", "have different encoders"),
        ("encoder", "was not fine-tuned"),
        ("question_answering", "cannot share its encoder"),
    ):
        with pytest.raises(UserError, match=message):
            together(mood, saved_model(kind))
    with pytest.raises(UserError, match="Two models of --model_dir are called 'mood'"):
        together(mood, mood)
    info = {"task": {**_TASKS["mood"].to_dict(), "pair": True}}
    models[mood].save_pretrained(tmp_path / "pairs", tiny_tokenizer, info)
    with pytest.raises(UserError, match="take different inputs"):
        together(mood, tmp_path / "pairs")
    head_tail = reading(mood, "head_tail", tmp_path / "ends")
    with pytest.raises(UserError, match="another part of long texts"):
        together(mood, head_tail)
    windows = reading(mood, "windows", tmp_path / "windows")
    with pytest.raises(UserError, match="reads texts in windows and cannot share"):
        together(mood, windows)
