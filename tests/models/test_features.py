"""Features of models: names of this project and of others, and the ids alone."""

import functools

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.models.features import named_features


@pytest.fixture
def features(tiny_features):
    del tiny_features["masked_lm_positions"]
    return tiny_features


def first(outputs):
    """One array of a model's outputs."""
    if not isinstance(outputs, dict):
        return np.array(outputs)
    return np.array(outputs["sequence_output"])


def theirs(features):
    """The same features by Hugging Face's names."""
    ids, mask, segments = (
        features[k] for k in ("input_ids", "input_mask", "segment_ids")
    )
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}


def test_their_names_mean_the_same(model, features):
    expected = first(model(features))
    np.testing.assert_array_equal(first(model(theirs(features))), expected)
    without = first(model({"input_ids": features["input_ids"]}))
    assert np.abs(without - expected).max() > 1e-3  # mask and segments matter


def test_ids_alone_and_other_types(model, features):
    ids = features["input_ids"]
    expected = first(model({"input_ids": ids}))
    for given in (ids, keras.ops.convert_to_tensor(ids)):
        np.testing.assert_array_equal(first(model(given)), expected)
    expected = first(model(features))
    for dtype in ("bool", "int64", "float32"):
        given = {k: v.astype("int64") for k, v in theirs(features).items()}
        given["attention_mask"] = given["attention_mask"].astype(dtype)
        np.testing.assert_allclose(first(model(given)), expected, atol=1e-6)


def test_outputs_have_their_names(model, features):
    expected = model(features)
    outputs = model(**theirs(features))
    if not isinstance(expected, dict):
        np.testing.assert_array_equal(outputs.logits, expected)
        np.testing.assert_array_equal(outputs, expected)
        return
    assert dict(outputs).keys() == expected.keys()
    theirs_of = {"sequence_output": "last_hidden_state"}
    theirs_of["pooled_output"] = "pooler_output"
    for ours, name in theirs_of.items():
        np.testing.assert_array_equal(getattr(outputs, name), expected[ours])
    with pytest.raises(AttributeError, match="no 'loss'; it returns .*_output"):
        outputs.loss  # noqa: B018


def test_names_that_are_wrong_missing_or_doubled(tiny_config, features):
    model = albert_tf.AlbertModel(tiny_config())
    mask = features["input_mask"]
    for given, message in (
        ({**features, "attention_masks": mask}, "'attention_masks'; did you mean 'att"),
        ({**features, "x": mask}, "feature 'x'; it takes input_ids, .*token_type_ids"),
        ({"input_mask": mask}, "lack input_ids; got input_mask"),
        ({**features, "attention_mask": mask}, "input_mask and attention_mask are the"),
    ):
        for call in (model, functools.partial(model.predict, verbose=0)):
            with pytest.raises(UserError, match=message):
                call(given)
    assert named_features({"input_ids": 1, "token_type_ids": None}) == {"input_ids": 1}
    batch = {"input_ids": 1, "masked_lm_ids": 2, "labels": 3}
    assert named_features(batch) == batch
