"""Pretraining from a teacher: its words and layers, and teachers that do not fit."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.objectives.distillation import DistillationObjective
from albert_tf.objectives.distillation import TeacherLayers
from albert_tf.objectives.distillation import TeacherWords
from albert_tf.objectives.flags import LayersFlags
from albert_tf.objectives.masked_lm import MASKED_LM
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.objectives.masked_lm import PERMUTATION_LM
from albert_tf.objectives.masked_lm import SENTENCE_ORDER
from albert_tf.objectives.replaced_tokens import ReplacedTokens
from albert_tf.pretraining.initial_model import load_teacher
from albert_tf.pretraining.run import _prepare


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


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


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
    objective = DistillationObjective(OBJECTIVES["sop"], teacher, flags)
    losses, _ = objective(model_of(own, is_trained=True), batch, True, [5, 7])
    totals = objective.denominators(batch)
    found = {name: losses[name] / totals[name] for name in losses}
    words, taught = (log_softmax(x["masked_lm_logits"] / 3) for x in (own, theirs))
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


_FLAGS = LayersFlags(teacher="teacher", teacher_layers="1:1")
_TERMS = [MASKED_LM, SENTENCE_ORDER, PERMUTATION_LM, ReplacedTokens(1.0)]
_TERMS += [TeacherWords(_FLAGS), TeacherLayers(_FLAGS)]


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
def test_a_run_has_its_teacher_in_its_loss_and_its_identity(start, settings):
    with pytest.raises(UserError, match="--teacher=. needs --objective=masked_lm"):
        settings(teacher=".", objective="replaced_tokens")
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
        ({"teacher_layers": "1:1", "depth_loop": True}, {}, "--depth_loop does not ke"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused(
    given, changes, message, start, tokenizer
):
    flags, config = start(given, **changes)
    with pytest.raises(UserError, match=message):
        load_teacher(flags, config, tokenizer)
