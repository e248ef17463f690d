"""Classifiers of texts and of tokens, and the tasks that go with them."""

import json

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.tasks.registry import task_of


def test_head_initialiser_ignores_the_config(tiny_config):
    config = tiny_config(hidden_size=192, initializer_range=0.3)
    model = AlbertForSequenceClassification(config, num_labels=9)
    weights = model.classifier.output_weights.numpy()
    assert 0.015 < weights.std() < 0.02  # truncated at two deviations
    assert np.abs(weights).max() <= 0.04
    kernel = model.albert.pooler.kernel.numpy()
    assert 0.24 < kernel.std() < 0.28


_TASK = {"name": "mood", "kind": "single_label", "labels": ["sad", "glad"]}


def task_of_head(model):
    return task_of({}, "the model", type(model), model.head_config())


def test_of_other_classes_nobody_knows_what_to_make(tiny_config):
    for labels in (["B-PER", "I-PER"], ["O", "person"], ["LABEL_0", "LABEL_1"]):
        model = AlbertForTokenClassification(tiny_config(), labels=labels)
        assert task_of_head(model) is None
    model = AlbertForTokenClassification(tiny_config(), labels=["NOUN", "VERB"])
    assert task_of_head(model).scheme == "plain"
    with pytest.raises(UserError, match="labels must be 3 different names, got O, O"):
        AlbertForTokenClassification(tiny_config(), 3, labels=["O", "O", "B-A"])
    with pytest.raises(UserError, match="num_labels must be at least 1, got None"):
        AlbertForTokenClassification(tiny_config())


@pytest.mark.slow
def test_the_task_of_the_directory_is_kept(tiny_config, tmp_path):
    info = {"task": _TASK, "max_seq_length": 12, "step": 7, "dev": {"accuracy": 1.0}}
    AlbertForSequenceClassification(tiny_config(), num_labels=2).save_pretrained(
        tmp_path / "a", None, info
    )
    task = {name: _TASK[name] for name in ("name", "kind")}  # head.json has the labels
    kept = {"task": task, "max_seq_length": 12}  # and nothing of that run
    for changes in ({}, {"hidden_dropout_prob": 0.1}, {"depth_loop": True}):
        model = AlbertForSequenceClassification.from_pretrained(
            tmp_path / "a", **changes
        )
        model.save_pretrained(tmp_path / "b")
        assert json.loads((tmp_path / "b" / "training_info.json").read_text()) == kept
    for changes in ({"num_labels": 3}, {"labels": ["LABEL_0", "LABEL_1"]}):
        other = AlbertForSequenceClassification.from_pretrained(
            tmp_path / "a", **changes
        )
        assert other.task_info() is None  # other labels
    assert AlbertModel.from_pretrained(tmp_path / "a").task_info() is None
    model.save_pretrained(tmp_path / "c", training_info={"step": 1})
    assert json.loads((tmp_path / "c" / "training_info.json").read_text()) == {
        "step": 1
    }
