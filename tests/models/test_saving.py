"""save_pretrained keeps the task, and writes the forms of other programs."""

import json

import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.predictor import Predictor

TASK = {"name": "mood", "kind": "single_label", "labels": ["sad", "glad"]}
CLASSIFIER = albert_tf.AlbertForSequenceClassification


def task_of(directory):
    return json.loads((directory / "training_info.json").read_text())


def test_the_task_of_the_directory_is_kept(tiny_config, tmp_path):
    info = {"task": TASK, "max_seq_length": 12, "step": 7, "dev": {"accuracy": 1.0}}
    CLASSIFIER(tiny_config(), num_labels=2).save_pretrained(tmp_path / "a", None, info)
    task = {name: TASK[name] for name in ("name", "kind")}  # head.json has the labels
    kept = {"task": task, "max_seq_length": 12}  # and nothing of that run
    for changes in ({}, {"hidden_dropout_prob": 0.1}, {"depth_loop": True}):
        model = CLASSIFIER.from_pretrained(tmp_path / "a", **changes)
        model.save_pretrained(tmp_path / "b")
        assert task_of(tmp_path / "b") == kept
    other = CLASSIFIER.from_pretrained(tmp_path / "a", num_labels=3)
    assert other.task_info() is None  # other labels
    assert albert_tf.AlbertModel.from_pretrained(tmp_path / "a").task_info() is None
    model.save_pretrained(tmp_path / "c", training_info={"step": 1})
    assert task_of(tmp_path / "c") == {"step": 1}


@pytest.mark.slow
def test_labels_reach_the_export(tiny_config, material, tmp_path):
    tokenizer = albert_tf.load_tokenizer(material / "vocab.model")
    encoder = albert_tf.AlbertModel(tiny_config(vocab_size=36))
    encoder.save_pretrained(tmp_path / "encoder")
    labels = ["sad", "glad", "so-so"]
    model = CLASSIFIER.from_pretrained(tmp_path / "encoder", labels=labels)
    assert model.num_labels == 3
    model.save_pretrained(tmp_path / "tuned", tokenizer)
    again = CLASSIFIER.from_pretrained(tmp_path / "tuned")
    assert list(again.labels) == labels
    target = export(ExportOptions(str(tmp_path / "tuned"), str(tmp_path / "export")))
    answer = Predictor(target).arrays(["the cat"])
    assert answer["label"][0] in labels


def test_official_form(tiny_config, material, tmp_path):
    tokenizer = albert_tf.load_tokenizer(material / "vocab.model")
    model = albert_tf.AlbertModel(tiny_config(vocab_size=36))
    model.save_pretrained(tmp_path, tokenizer, format="tf1")
    assert (tmp_path / "model.ckpt-best.index").exists()
    assert (tmp_path / "30k-clean.model").exists()


def test_unknown_form(tiny_config, tmp_path):
    with pytest.raises(UserError, match="format='onnx': expected one of model_dir"):
        albert_tf.AlbertModel(tiny_config()).save_pretrained(tmp_path, format="onnx")
