"""A further head: its data and labels, and that nothing else has to know of it."""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.objectives import masked_lm
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.initial_model import initial_model
from data_pipeline.records import schema

CLASSES = 3


def length_class(example):
    """Returns 0, 1 or 2: segment A's thirds of the tokens, rounded down, 2 for all."""
    lists = example.features.feature
    tokens = sum(lists["input_mask"].int64_list.value)
    in_a = tokens - sum(lists["segment_ids"].int64_list.value)
    return min(CLASSES * in_a // tokens, CLASSES - 1)


@pytest.fixture
def data(material, tmp_path):
    """1. The data: records with one label more, described as made for it."""
    shutil.copytree(material / "data", tmp_path / "data")
    for path in (tmp_path / "data").rglob("*.tfrecord"):
        records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
        with tf.io.TFRecordWriter(str(path)) as writer:
            for record in records:
                example = tf.train.Example.FromString(record)
                labels = example.features.feature["segment_length_labels"]
                labels.int64_list.value.append(length_class(example))
                writer.write(example.SerializeToString())
    for path in (tmp_path / "data").rglob("dataset_info.json"):
        info = json.loads(path.read_text())
        info = {**info, "sentence_objective": "length", "files": list(info["files"])}
        path.write_text(json.dumps(info))
        (path.parent / "SHA256SUMS").unlink()
    return tmp_path / "data"


@pytest.fixture
def length_objective(project, monkeypatch):
    """2. The schema of a batch has the label; 3. the objective has a term for it.

    As docs/extending.md shows it.
    """
    monkeypatch.setitem(schema.FEATURES, "static", schema.FEATURES["static"])
    monkeypatch.setitem(masked_lm.OBJECTIVES, "length", ())
    text = (project / "docs" / "extending.md").read_text()
    (example,) = re.findall(r"<!-- objective -->\n```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, "extending.md", "exec"), {})


@pytest.mark.slow
def test_a_further_sentence_head(run, data, length_objective, lines, tmp_path):
    files = {"input_file": data / "train.tfrecord", "do_eval": True}
    files["eval_file"] = data / "held_out" / "*.tfrecord"
    results = run(**files)
    history = json.loads((tmp_path / "model" / "history.json").read_text())
    for term in ("masked_lm", "sentence_order", "segment_length"):
        assert 0 < results[f"{term}_accuracy"] < 1
        assert history[-1][f"{term}_loss"] == results[f"{term}_loss"]
    parts = [results[f"{t}_loss"] for t in ("masked_lm", "sentence_order")]
    assert results["loss"] == pytest.approx(sum(parts) + results["segment_length_loss"])
    assert results["segment_length_loss"] < history[0]["segment_length_loss"]
    assert any("segment_length" in line for line in lines if "training: 12/12" in line)

    model = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / "model")
    assert model.sentence_heads == {"sentence_order": 2, "segment_length": CLASSES}
    found = model({"input_ids": np.array([[2, 5, 6, 3]])})
    assert found["segment_length_logits"].shape == (1, CLASSES)
    assert run(do_train=False, **files) == results


def test_the_head_starts_from_a_model_without_it(settings, length_objective, tmp_path):
    config = AlbertConfig.from_json_file(settings().albert_config_file)
    plain = albert_tf.AlbertForPreTraining(config)
    plain.save_pretrained(tmp_path / "without")
    terms, start = masked_lm.OBJECTIVES["length"], bundle.open(tmp_path / "without")
    model = initial_model(settings(), config, terms, start)
    assert model.sentence_heads == {"sentence_order": 2, "segment_length": CLASSES}
    embeddings = "bert/embeddings/word_embeddings"
    np.testing.assert_array_equal(
        model.official_variables()[embeddings], plain.official_variables()[embeddings]
    )


def test_data_of_unknown_and_of_two_objectives(settings, material, data, request):
    def terms(**changes):
        return PretrainingData(settings(**changes), None).sentence_terms()

    files = data / "train.tfrecord"
    with pytest.raises(UserError, match="--sentence_objective=length, which this vers"):
        terms(input_file=files)
    alone = terms(input_file=files, sentence_objective="none")
    assert alone == masked_lm.OBJECTIVES["none"]
    request.getfixturevalue("length_objective")
    with pytest.raises(UserError, match="=length and some with sop; pass"):
        terms(input_file=f"{files},{material}/data/train.tfrecord")
