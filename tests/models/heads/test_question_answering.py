"""The heads of SQuAD 1.1 and 2.0."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from albert_tf.models.question_answering import no_answer_mask
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


def test_the_default_mask():
    #           [CLS] q [SEP] a b [SEP] pad
    segments = np.array([[0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1]])
    mask = np.array([[1, 1, 1, 1, 1, 1, 0], [1] * 7])
    np.testing.assert_array_equal(
        no_answer_mask(mask, segments),
        [[0, 1, 1, 0, 0, 1, 1], [0, 1, 1, 1, 0, 0, 1]],
    )


def test_the_default_mask_of_roberta(tiny_config):
    #      <s> q </s></s> a b </s> <pad>
    ids = np.array([[0, 9, 2, 2, 8, 7, 2, 1], [0, 2, 2, 8, 2, 1, 1, 1]], "int32")
    features = {"input_ids": ids, "input_mask": (ids != 1).astype("int32")}
    config = tiny_config(padding_idx=1, parameter_sharing="none", type_vocab_size=1)
    model = AlbertForAnswerableQuestions(config)
    p_mask = np.array([[0, 1, 1, 1, 0, 0, 1, 1], [0, 1, 1, 0, 1, 1, 1, 1]])
    assert_same(model(features), model({**features, "p_mask": p_mask}))


def test_the_default_mask_is_used(tiny_config, tiny_features):
    model = AlbertForAnswerableQuestions(tiny_config())
    p_mask = no_answer_mask(tiny_features["input_mask"], tiny_features["segment_ids"])
    assert_same(model(tiny_features), model({**tiny_features, "p_mask": p_mask}))


def test_segments_are_needed_for_the_mask(tiny_config, tiny_features):
    model = AlbertForAnswerableQuestions(tiny_config())
    ids = {"input_ids": tiny_features["input_ids"]}
    with pytest.raises(UserError, match="needs p_mask or segment_ids"):
        model(ids)
    segments = {**ids, "segment_ids": tiny_features["segment_ids"]}
    mask = np.ones_like(ids["input_ids"])
    assert_same(model(segments), model({**segments, "input_mask": mask}))


def test_fewer_tokens_than_beams(tiny_config, tiny_features):
    model = AlbertForAnswerableQuestions(tiny_config(), start_n_top=9, end_n_top=8)
    outputs = model(tiny_features)
    assert outputs["start_top_index"].shape == (2, 7)
    assert outputs["end_top_index"].shape == (2, 49)


def test_head_dropout(tiny_config, tiny_features):
    features = {**tiny_features, "start_positions": np.array([3, 3])}
    seed = np.array([1, 2], "int32")
    for probability, same in ((0.5, False), (0.0, True)):
        model = AlbertForAnswerableQuestions(
            tiny_config(), head_dropout_prob=probability
        )
        trained = model(features, training=True, dropout_seed=seed)
        untrained = model(features)
        np.testing.assert_array_equal(
            trained["end_log_probs"], untrained["end_log_probs"]
        )
        equal = np.array_equal(trained["cls_logits"], untrained["cls_logits"])
        assert equal is same


@pytest.mark.parametrize("name", ["start_n_top", "end_n_top"])
def test_beams_are_positive(name, tiny_config):
    with pytest.raises(UserError, match=f"{name} must be at least 1, got 0"):
        AlbertForAnswerableQuestions(tiny_config(), **{name: 0})


@pytest.mark.parametrize("model_class", MODELS)
def test_kept_with_official_names(model_class, tiny_config, tiny_features, tmp_path):
    model = model_class(tiny_config())
    save_tf1_checkpoint(model, tmp_path / "model.ckpt-1")
    loaded = model_class.from_pretrained(tmp_path)
    assert not loaded.load_report.missing
    assert_same(loaded(tiny_features), model(tiny_features))


@pytest.mark.parametrize("model_class", MODELS)
def test_kept_as_model_directory(model_class, tiny_config, tiny_features, tmp_path):
    arguments = {}
    if model_class is AlbertForAnswerableQuestions:
        arguments = {"start_n_top": 2, "end_n_top": 3, "head_dropout_prob": 0.2}
    model = model_class(tiny_config(), **arguments)
    model.save_pretrained(tmp_path / "directory")
    loaded = getattr(albert_tf, model_class.__name__).from_pretrained(
        tmp_path / "directory"
    )
    assert_same(loaded(tiny_features), model(tiny_features))
    assert loaded.head_config() == model.head_config() | arguments
    model.save(tmp_path / "model.keras")
    assert_same(
        keras.models.load_model(tmp_path / "model.keras")(tiny_features),
        model(tiny_features),
    )


def test_kept_as_huggingface(tiny_config, tiny_features, tmp_path):
    from safetensors import numpy as safetensors

    model = AlbertForQuestionAnswering(tiny_config())
    save_huggingface(model, tmp_path)
    path = tmp_path / "model.safetensors"
    tensors = safetensors.load_file(path)
    assert tensors["qa_outputs.weight"].shape == (2, 12)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == ["AlbertForQuestionAnswering"]
    assert not [name for name in tensors if "pooler" in name]  # theirs has none
    loaded = AlbertForQuestionAnswering.from_pretrained(tmp_path)
    assert set(loaded.load_report.missing) == {
        "bert/pooler/dense/kernel",
        "bert/pooler/dense/bias",
    }
    assert_same(loaded(tiny_features), model(tiny_features))


def test_huggingface_has_no_second_version(tiny_config, tmp_path):
    model = AlbertForAnswerableQuestions(tiny_config())
    with pytest.raises(UserError, match="has no ALBERT model with start_logits/dense"):
        save_huggingface(model, tmp_path)


@pytest.mark.parametrize("model_class", MODELS)
def test_the_pooler_is_left_alone(model_class, tiny_config):
    names = [v.path for v in model_class(tiny_config()).trainable_variables]
    assert len(names) > 20
    assert not any("pooler" in name for name in names)


@pytest.mark.parametrize("model_class", MODELS)
def test_mixed_precision(model_class, tiny_config, tiny_features):
    exact = model_class(tiny_config())
    mixed = model_class(tiny_config(), dtype="mixed_bfloat16")
    for ours, theirs in zip(mixed.variables, exact.variables, strict=True):
        ours.assign(theirs)
    features = {**tiny_features, "start_positions": np.array([3, 3])}
    found, expected = mixed(features), exact(features)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        close = np.array(value) > -1e29
        np.testing.assert_allclose(
            np.array(found[name])[close], np.array(value)[close], atol=0.15
        )
