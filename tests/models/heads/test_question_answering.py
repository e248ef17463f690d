"""The heads of SQuAD 1.1 and 2.0."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering

MODELS = (AlbertForQuestionAnswering, AlbertForAnswerableQuestions)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], name)


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
