"""A further head: its data and labels, and that nothing else has to know of it."""

import re

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.objectives import masked_lm
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.run import _prepare
from data_pipeline.records import schema

CLASSES = 3


def length_class(example):
    """Returns 0, 1 or 2: segment A's thirds of the tokens, rounded down, 2 for all."""
    lists = example.features.feature
    tokens = sum(lists["input_mask"].int64_list.value)
    in_a = tokens - sum(lists["segment_ids"].int64_list.value)
    return min(CLASSES * in_a // tokens, CLASSES - 1)


@pytest.fixture
def data(material, described):
    """1. The data: records with one label more, described as made for it."""
    patterns = []
    for part in (".", "held_out"):
        source = material / "data" / part
        told = {
            "sentence_objective": "length",
            "files": [path.name for path in source.glob("*.tfrecord")],
        }
        folder = described(source, f"data_{part}", **told)
        for path in folder.glob("*.tfrecord"):
            records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
            with tf.io.TFRecordWriter(str(path)) as writer:
                for record in records:
                    example = tf.train.Example.FromString(record)
                    labels = example.features.feature["segment_length_labels"]
                    labels.int64_list.value.append(length_class(example))
                    writer.write(example.SerializeToString())
        patterns.append(folder / "*.tfrecord")
    return patterns


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
def test_a_further_sentence_head(settings, data, length_objective, tmp_path):
    """It begins anew where the first checkpoint has none."""
    config = AlbertConfig.from_json_file(settings().albert_config_file)
    plain = albert_tf.AlbertForPreTraining(config)
    plain.save_pretrained(tmp_path / "without")
    files = dict(zip(("input_file", "eval_file"), data, strict=True))
    chosen = settings(init_checkpoint=tmp_path / "without", **files)
    _, batches, trainer = _prepare(chosen)
    model, table = trainer.model, "bert/embeddings/word_embeddings"
    assert model.sentence_heads == {"sentence_order": 2, "segment_length": CLASSES}
    found, expected = (m.official_variables()[table] for m in (model, plain))
    np.testing.assert_array_equal(found, expected)
    results = trainer.evaluate(batches.evaluation())
    terms = ("masked_lm", "sentence_order", "segment_length")
    assert all(0 <= results[f"{term}_accuracy"] < 1 for term in terms)
    parts = [results[f"{term}_loss"] for term in terms]
    assert results["loss"] == pytest.approx(sum(parts))
    trainer.train(batches.stages())
    trained = trainer.evaluate(batches.evaluation())
    assert trained["segment_length_loss"] < results["segment_length_loss"]
    model.save_pretrained(tmp_path / "model")
    again = albert_tf.AlbertForPreTraining.from_pretrained(tmp_path / "model")
    found = again({"input_ids": np.array([[2, 5, 6, 3]])})
    assert found["segment_length_logits"].shape == (1, CLASSES)


def test_data_of_unknown_and_of_two_objectives(settings, material, data, request):
    def terms(**changes):
        return PretrainingData(settings(**changes), None).sentence_terms()

    files, _ = data
    with pytest.raises(UserError, match="--sentence_objective=length, which this vers"):
        terms(input_file=files)
    alone = terms(input_file=files, sentence_objective="none")
    assert alone == masked_lm.OBJECTIVES["none"]
    request.getfixturevalue("length_objective")
    with pytest.raises(UserError, match="=length and some with sop; pass"):
        terms(input_file=f"{files},{material}/data/train.tfrecord")
