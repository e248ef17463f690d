"""The heads of SQuAD 1.1 and 2.0."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from tests.models.heads.answer_beams_reference import Reference

MODELS = (AlbertForQuestionAnswering, AlbertForAnswerableQuestions)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], name)


def test_version_1(tiny_config, tiny_features):
    model = AlbertForQuestionAnswering(tiny_config())
    outputs = model(tiny_features)
    hidden = model.albert(tiny_features)["sequence_output"]
    weights = model.span_head.output_weights.numpy()
    logits = np.einsum("bth,lh->lbt", hidden, weights)
    assert {value.dtype for value in outputs.values()} == {tf.float32}
    np.testing.assert_allclose(outputs["start_logits"], logits[0], atol=1e-6)
    np.testing.assert_allclose(outputs["end_logits"], logits[1], atol=1e-6)


def test_version_2(tiny_config, tiny_features):
    model = AlbertForAnswerableQuestions(tiny_config(), start_n_top=2, end_n_top=3)
    p_mask = np.array([[0, 1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1, 1]], "float32")
    reference = Reference(model, tiny_features, p_mask, none=np.array([0, 0]))
    starts, ends, answer = reference.starts, reference.ends, reference.answer()
    features = {**tiny_features, "p_mask": p_mask}
    positions = np.array([4, 1], "int32")
    outputs = model({**features, "start_positions": positions})
    np.testing.assert_allclose(outputs["start_log_probs"], starts, atol=1e-5)
    np.testing.assert_allclose(outputs["end_log_probs"], ends(positions), atol=1e-5)
    np.testing.assert_allclose(outputs["cls_logits"], answer, atol=1e-5)
    outputs = model(features)
    top = np.argsort(-starts, kind="stable")[:, :2]
    np.testing.assert_array_equal(outputs["start_top_index"], top)
    np.testing.assert_allclose(
        outputs["start_top_log_probs"], np.take_along_axis(starts, top, 1), atol=1e-5
    )
    for k in range(2):
        given = ends(top[:, k])
        best = np.argsort(-given, kind="stable")[:, :3]
        found = slice(3 * k, 3 * k + 3)
        np.testing.assert_array_equal(outputs["end_top_index"][:, found], best)
        np.testing.assert_allclose(
            outputs["end_top_log_probs"][:, found],
            np.take_along_axis(given, best, 1),
            atol=1e-5,
        )
    np.testing.assert_allclose(outputs["cls_logits"], answer, atol=1e-5)


def test_the_default_mask(tiny_config, tiny_features):
    # [CLS] q [SEP] a b c [SEP], and the second [CLS] q [SEP] a [SEP] pad pad
    model = AlbertForAnswerableQuestions(tiny_config())
    p_mask = np.array([[0, 1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 1, 1, 1]])
    assert_same(model(tiny_features), model({**tiny_features, "p_mask": p_mask}))
    del tiny_features["input_mask"]
    p_mask[1] = p_mask[0]
    assert_same(model(tiny_features), model({**tiny_features, "p_mask": p_mask}))
    del tiny_features["segment_ids"]
    with pytest.raises(UserError, match="needs p_mask or segment_ids"):
        model(tiny_features)


def test_the_default_mask_of_roberta(tiny_config):
    #      <s> q </s></s> a b </s> <pad>
    ids = np.array([[0, 9, 2, 2, 8, 7, 2, 1], [0, 2, 2, 8, 2, 1, 1, 1]], "int32")
    features = {"input_ids": ids, "input_mask": (ids != 1).astype("int32")}
    config = tiny_config(padding_idx=1, parameter_sharing="none", type_vocab_size=1)
    model = AlbertForAnswerableQuestions(config)
    p_mask = np.array([[0, 1, 1, 1, 0, 0, 1, 1], [0, 1, 1, 0, 1, 1, 1, 1]])
    assert_same(model(features), model({**features, "p_mask": p_mask}))


def test_fewer_tokens_than_beams(tiny_config, tiny_features):
    model = AlbertForAnswerableQuestions(tiny_config(), start_n_top=9, end_n_top=8)
    outputs = model(tiny_features)
    assert outputs["start_top_index"].shape == (2, 7)
    assert outputs["end_top_index"].shape == (2, 49)
    for name in ("start_n_top", "end_n_top"):
        with pytest.raises(UserError, match=f"{name} must be at least 1, got 0"):
            AlbertForAnswerableQuestions(tiny_config(), **{name: 0})


@pytest.mark.slow
def test_head_dropout(tiny_config, tiny_features):
    features = {**tiny_features, "start_positions": np.array([3, 3])}
    seed = np.array([1, 2], "int32")
    for probability, same in ((0.5, False), (0.0, True)):
        model = AlbertForAnswerableQuestions(
            tiny_config(), head_dropout_prob=probability
        )
        found = model(features, training=True, dropout_seed=seed)
        plain = model(features)
        np.testing.assert_array_equal(found["end_log_probs"], plain["end_log_probs"])
        assert np.array_equal(found["cls_logits"], plain["cls_logits"]) is same


@pytest.mark.parametrize("model_class", MODELS)
def test_the_pooler_is_left_alone(model_class, tiny_config):
    names = [v.path for v in model_class(tiny_config()).trainable_variables]
    assert len(names) > 20
    assert not any("pooler" in name for name in names)
