"""A further head, which nothing else has to know of; a teacher's words and layers."""

import dataclasses
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.objectives import masked_lm
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.objectives.distillation import DistillationObjective
from albert_tf.objectives.distillation import TeacherLayers
from albert_tf.objectives.distillation import TeacherWords
from albert_tf.objectives.flags import LayersFlags
from albert_tf.objectives.replaced_tokens import ReplacedTokens
from albert_tf.pretraining.data import PretrainingData
from albert_tf.pretraining.initial_model import load_teacher
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


@pytest.fixture
def start(settings, tokenizer, tmp_path):
    """Saves a teacher, with changes of the configuration; makes the `ModelFlags`."""
    config = AlbertConfig.from_json_file(settings().albert_config_file)

    def make(flags, **changes):
        own = dataclasses.replace(config, **changes)
        teacher = albert_tf.AlbertForPreTraining(own)
        teacher.save_pretrained(tmp_path / "teacher", tokenizer)
        return settings(teacher=tmp_path / "teacher", **flags), config

    return make


def test_the_loss_equals_numpy():
    """With padding, and a masked token that does not count."""
    random = np.random.default_rng(2)
    batch = {
        "input_ids": tf.ones([2, 5], tf.int32),
        "input_mask": tf.constant([[1] * 5, [1] * 3 + [0] * 2]),
        "masked_lm_ids": tf.constant([[1, 2], [3, 0]]),
        "masked_lm_weights": tf.constant([[1.0, 1.0], [1.0, 0.0]]),
        "sentence_order_labels": tf.constant([0, 1]),
    }
    own, theirs = (
        {
            "masked_lm_logits": np.float32(random.normal(size=(2, 2, 7))),
            "sentence_order_logits": np.float32(random.normal(size=(2, 2))),
            "hidden_states": list(np.float32(random.normal(size=(layers, 2, 5, 4)))),
        }
        for layers in (2, 3)
    )

    def model_of(outputs, is_trained):
        def model(features, training, dropout_seed=None, **whole):
            seed = [5, 7] if is_trained else None
            assert (training, dropout_seed) == (is_trained, seed)
            assert whole == {"heads_only": False, "hidden_states": True}
            return tf.nest.map_structure(tf.constant, outputs)

        return model

    flags = {
        "teacher_weight": 0.25,
        "teacher_temperature": 3.0,
        "teacher_layers": "1:1,2:3",
        "teacher_layers_weight": 0.1,
    }
    flags = LayersFlags(teacher="teacher", **flags)
    teacher = model_of(theirs, is_trained=False)  # without dropout
    objective = DistillationObjective(masked_lm.OBJECTIVES["sop"], teacher, flags)
    losses, _ = objective(model_of(own, is_trained=True), batch, True, [5, 7])
    totals = objective.denominators(batch)
    found = {name: losses[name] / totals[name] for name in losses}
    logits = (x["masked_lm_logits"] / 3 for x in (own, theirs))
    words, taught = (tf.nn.log_softmax(values).numpy() for values in logits)
    distances = 9 * (np.exp(taught) * (taught - words)).sum(-1)
    expected = (distances[0].sum() + distances[1, 0]) / 3
    np.testing.assert_allclose(found["teacher"], expected, rtol=1e-5)
    squares = [
        np.square(own["hidden_states"][i] - theirs["hidden_states"][j]).mean(-1)
        for i, j in ((0, 0), (1, 2))
    ]
    squares = np.mean(squares, axis=0)
    expected = (squares[0].sum() + squares[1, :3].sum()) / 8
    np.testing.assert_allclose(found["teacher_layers"], expected, rtol=1e-5)
    scales = {"masked_lm": 0.75, "sentence_order": 1.0}
    assert objective.scales == {**scales, "teacher": 0.25, "teacher_layers": 0.1}
    flags = LayersFlags(teacher="teacher")
    words_alone = DistillationObjective(objective.terms[:2], teacher, flags)
    assert words_alone.loss_terms == ("masked_lm", "sentence_order", "teacher")
    assert words_alone._whole == {"heads_only": True, "hidden_states": False}


_FLAGS = LayersFlags(teacher="teacher", teacher_layers="1:1")
_TERMS = [
    *(masked_lm.MASKED_LM, masked_lm.SENTENCE_ORDER, masked_lm.PERMUTATION_LM),
    *(ReplacedTokens(1.0), TeacherWords(_FLAGS), TeacherLayers(_FLAGS)),
]


@pytest.mark.parametrize("term", _TERMS, ids=lambda term: term.name)
def test_no_term_counts_rows_of_padding(term):
    """An evaluation fills its last batch with them."""
    ones = tf.ones([3, 2])
    names = ("masked_lm_weights", "target_weights")
    ids = ("input_ids", "input_mask", "masked_lm_ids", "target_ids")
    batch = {
        **dict.fromkeys(names, ones),
        **dict.fromkeys(ids, tf.cast(ones, tf.int32)),
        "sentence_order_labels": tf.constant([0, 1, 0]),
        EXAMPLE_WEIGHTS: tf.constant([1.0, 0.0, 1.0]),
    }
    found = np.reshape(term.weights(batch), [3, -1])
    np.testing.assert_array_equal(found[1], 0 * found[0])
    np.testing.assert_array_equal(found[::2], np.ones_like(found[::2]))


@pytest.mark.slow
def test_a_run_has_its_teacher_in_its_loss_and_its_identity(start):
    identities = set()
    for seed in range(2):  # two teachers of one name
        keras.utils.set_random_seed(seed)
        flags, _ = start({"teacher_layers": "1:1"})
        *_, trainer = _prepare(flags)
        (found,) = (e for e in trainer.options.identity if e.name == "teacher_weights")
        identities.add(found.value)
        assert {"teacher", "teacher_layers"} <= {*trainer.objective.loss_terms}
    assert len(identities) == 2


@pytest.mark.parametrize(
    ("given", "changes", "message"),
    [
        ({}, {"vocab_size": 999}, "has another vocabulary than the model"),
        ({"teacher_layers": "1:2"}, {}, "has the layers 1 to 1, the teacher 1"),
        ({"teacher_layers": "0:1"}, {}, "the model has the layers 1 to 1"),
        (
            {"teacher_layers": "1:5"},
            {"num_hidden_layers": 2, "inner_group_num": 2},
            "has the layers 1 to 1, the teacher 1 to 4",
        ),
        ({"teacher_layers": "1:1", "depth_loop": True}, {}, "--depth_loop does not ke"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused(
    given, changes, message, start, tokenizer
):
    flags, config = start(given, **changes)
    with pytest.raises(UserError, match=message):
        load_teacher(flags, config, tokenizer)
