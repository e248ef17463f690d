"""Answers have the keys and types that a type checker is told."""

import typing

import numpy as np
import pytest

from albert_tf import answers
from albert_tf.serving.predictor import Predictor

_TEXT = "the film was good and the plot not very bad"
_MASKED = "the film was good and the plot [MASK] not very bad"
_QUESTION = {"question": "a film", "context": _TEXT}
_KINDS = {
    "classification": (answers.LabelAnswer, {"text": _TEXT}),
    "multi_label": (answers.LabelsAnswer, {"text": _TEXT}),
    "regression": (answers.NumberAnswer, {"text": _TEXT}),
    "question_answering": (answers.QuestionAnswer, _QUESTION),
    "multiple_choice": (answers.ChoiceAnswer, {**_QUESTION, "options": ["a", "it"]}),
    "tagging": (answers.EntitiesAnswer, {"text": _MASKED}),
    "similarity": (answers.VectorAnswer, {"text": _TEXT}),
    "encoder": (answers.EncoderAnswer, {"text": _TEXT}),
    "masked_lm": (answers.MasksAnswer, {"text": _MASKED}),
}


def check(value, hint):
    """Checks that a value has a type, as deep as that says."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint)
        assert hint.__required_keys__ <= value.keys() <= hints.keys()
        for name, own in value.items():
            check(own, hints[name])
    else:
        assert type(value) is (origin or hint), (value, hint)
        rows = zip(value) if origin is list else value.items() if origin else ()
        for row in rows:
            for own, hint_of_own in zip(row, inner, strict=True):
                check(own, hint_of_own)


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_answers_of_predictors(kind, saved_model):
    hint, inputs = _KINDS[kind]
    asked = {"masked_lm": ("pretraining", "masked_lm")}
    model, task = asked.get(kind, (kind, "auto"))
    answer = Predictor(saved_model(model), task=task)(**inputs)
    check(answer, hint)
    if kind != "multi_label":  # no label may apply
        listed = [own for own in answer.values() if isinstance(own, list)]
        assert all(listed), "an empty list shows no types"


def test_a_predictor_may_return_all_of_them():
    everything = typing.get_type_hints(answers.Answer)
    for hint, _ in _KINDS.values():
        for name, own in typing.get_type_hints(hint).items():
            if name != "probabilities":
                assert everything[name] == own, name
    of_classifiers = typing.get_type_hints(answers.ClassifierAnswer)
    assert of_classifiers.items() - everything.items() == {
        ("probabilities", dict[str, float])
    }
    assert everything["embedding"] is np.ndarray
