"""Heads in Hugging Face's config.json: dropout, labels, kind of task."""

import json

import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.tasks.registry import read_task
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece


def test_a_new_head_has_its_own_dropout(saved, reconfigure, tmp_path):
    reconfigure(classifier_dropout_prob=0.3)
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
    assert model.classifier_dropout_prob == 0.1
    reconfigure(classifier_dropout_prob=None)
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
    assert model.classifier_dropout_prob == 0.1


@pytest.mark.parametrize(
    ("arguments", "entries"),
    [
        ({"labels": ["a", "b", "c"]}, {"problem_type": "single_label_classification"}),
        ({"labels": ["a"], "label_kind": "multi_label"}, {}),
        ({"label_kind": "regression"}, {"problem_type": "regression"}),
    ],
)
def test_config_json_tells_labels_and_kind(
    arguments, entries, tiny_config, reconfigure, tmp_path
):
    model = AlbertForSequenceClassification(tiny_config(), **arguments)
    save_huggingface(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert entries.items() <= config.items()
    loaded = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.head_config() == model.head_config()
    assert read_task(bundle.open(tmp_path)).kind == arguments.get(
        "label_kind", "single_label"
    )
    reconfigure(problem_type=None)
    kind = "single_label" if len(arguments.get("labels", ())) > 1 else "regression"
    assert read_task(bundle.open(tmp_path)).kind == kind


def test_labels_that_nobody_named(tiny_config, reconfigure, tmp_path):
    """Their library leaves the names of two out, and calls others by number."""
    save_huggingface(AlbertForSequenceClassification(tiny_config(), 2), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    reconfigure(id2label={"0": "a", "1": "b", "2": "c"})
    other = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert (other.num_labels, other.labels) == (2, None)  # as many as weights
    del config["id2label"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.labels == ("LABEL_0", "LABEL_1")
    renamed = AlbertForSequenceClassification.from_pretrained(
        tmp_path, labels=["no", "yes"]
    )
    assert renamed.labels == ("no", "yes")
    assert not renamed.load_report.missing
    more = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    assert more.labels is None


@pytest.mark.slow
def test_weights_are_read_once_and_only_where_they_are_needed(
    tiny_config, tmp_path, monkeypatch
):
    labels = ["no", "yes"]
    tokenizer = WordPieceTokenizer(wordpiece(map(str, range(32))).encode())
    model = AlbertForSequenceClassification(tiny_config(), labels=labels)
    model.save_pretrained(tmp_path, tokenizer, format="huggingface")
    vectors = AlbertForTextEmbedding(tiny_config(), pooling="cls")
    vectors.save_pretrained(tmp_path / "vectors", tokenizer, format="huggingface")
    read, load_file = [], safetensors.load_file
    monkeypatch.setattr(
        safetensors, "load_file", lambda path: read.append(path) or load_file(path)
    )
    assert bundle.open(tmp_path).family is model.family
    assert bundle.open(tmp_path / "vectors").head()[1]["pooling"] == "cls"
    assert not read
    classifier = albert_tf.TextClassifier(tmp_path)
    assert (classifier.model.labels, len(read)) == (("no", "yes"), 1)
    albert_tf.Predictor(tmp_path)
    assert len(read) == 2
