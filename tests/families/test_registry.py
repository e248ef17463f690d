"""The registry of models: names, recognition of checkpoints, names of heads."""

import numpy as np
import pytest

import albert_tf
from albert_tf.config import ModelConfig
from albert_tf.errors import UserError
from albert_tf.families import head_variables
from albert_tf.families import registry
from albert_tf.families.albert import ALBERT
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import PretrainedModel

_PRETRAINING = list(albert_tf.AlbertForPreTraining.head_names())
_LABELLING = ["output_weights", "output_bias"]
_ENCODER = ["bert/pooler/dense/kernel", "bert/pooler/dense/bias"]


class AlbertForCloze(PretrainedModel):
    """A part of another model's head."""

    family = ALBERT
    head_table = head_variables.masked_lm("masked_lm_head")


class AlbertForTokens(PretrainedModel):
    """Hugging Face's names are those of sequence classification."""

    family = ALBERT
    head_table = head_variables.classification("classifier", "classifier", "tokens/")


@pytest.fixture
def register(monkeypatch):
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))
    return registry.register_model


def test_public_names_are_those_of_the_registry():
    assert set(registry.model_names()) <= set(albert_tf.__all__) <= {*dir(albert_tf)}
    for name in registry.model_names():
        assert getattr(albert_tf, name) is registry.model_class(name)
        assert registry.model_class(name).__name__ == name


def test_a_registered_class_is_known_by_name(register):
    register(AlbertForCloze)
    assert albert_tf.AlbertForCloze is AlbertForCloze
    assert registry.model_names()[-1] == "AlbertForCloze"
    with pytest.raises(UserError, match="already has a model AlbertModel"):
        register(type("AlbertModel", (PretrainedModel,), {}))


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        (_ENCODER, "AlbertModel"),
        ([*_ENCODER, "cls/unknown/output_bias"], "AlbertModel"),
        ([*_ENCODER, "cls/squad/output_bias"], "AlbertForQuestionAnswering"),
        ([*_ENCODER, "start_logits/dense/bias"], "AlbertForAnswerableQuestions"),
        ([*_ENCODER, *_PRETRAINING], "AlbertForPreTraining"),
        ([*_ENCODER, _PRETRAINING[-1]], "AlbertForPreTraining"),
        ([*_ENCODER, *_LABELLING], "AlbertForSequenceClassification"),
        ([*_ENCODER, *_PRETRAINING, "output_bias"], "AlbertForPreTraining"),
        # Of two that it fits, the head that lacks less.
        ([*_ENCODER, *albert_tf.AlbertForMaskedLM.head_names()], "AlbertForMaskedLM"),
    ],
)
def test_the_head_tells_the_model(tensors, expected):
    assert registry.recognise(tensors, ALBERT).__name__ == expected
    # Of equal heads the checkpoint names one.
    named = ["AlbertForMultipleChoice"]
    found = registry.recognise([*_ENCODER, *_LABELLING], architectures=named)
    assert found is albert_tf.AlbertForMultipleChoice


def test_names_of_a_head_that_searches_answers():
    """Those of `PoolerEndLogits` and of others in transformers, or none."""
    weights, norm = (("kernel", "weight"), ("bias", "bias")), ("beta", "gamma")
    layers = {
        "start": ("start_logits/dense", weights),
        "end_hidden": ("end_logits/dense_0", weights),
        "end_norm": (
            "end_logits/LayerNorm",
            zip(norm, ("bias", "weight"), strict=True),
        ),
        "end": ("end_logits/dense_1", weights),
        "answer_hidden": ("answer_class/dense_0", weights),
        "answer": ("answer_class/dense_1", weights[:1]),  # which has no bias
    }
    expected = [
        (f"head.{ours}.{own}", f"{scope}/{own}", f"{scope}/{other}".replace("/", "."))
        for ours, (scope, names) in layers.items()
        for own, other in names
    ]
    assert [*head_variables.answer_beams("head", True)] == expected
    unknown = [(ours, official, None) for ours, official, _ in expected]
    assert [*head_variables.answer_beams("head")] == unknown


def test_a_head_that_hugging_face_does_not_have(register, tiny_config):
    head_table = head_variables.dense("pooler", "ours/dense")
    model_class = type("AlbertForUs", (AlbertModel,), {"head_table": head_table})
    register(model_class)
    assert registry.recognise([*_ENCODER, "ours/dense/bias"]) is model_class
    assert registry.head_names(ALBERT)["ours/dense/bias"] is None
    with pytest.raises(UserError, match="no ALBERT model with ours/dense/kernel; wr"):
        ALBERT.to_huggingface(tiny_config(), {"ours/dense/kernel": 0}, {})
    assert ALBERT.encoder_parameters(ModelConfig()) == 0  # nobody has counted


def test_the_named_model_decides_what_a_name_means(register):
    register(AlbertForTokens)
    theirs = {"classifier.bias": np.zeros(2, np.float32)}
    for architecture, official in (
        ("AlbertForTokens", "tokens/output_bias"),
        ("AlbertForSequenceClassification", "output_bias"),
    ):
        names = registry.head_names(ALBERT, [architecture])
        assert list(ALBERT.tensors_from_huggingface(theirs, names, "x")) == [official]
