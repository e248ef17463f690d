"""The head of multiple choice."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.classification import NO_CHOICE
from albert_tf.models.classification import AlbertForMultipleChoice

_NAMES = ("input_ids", "input_mask", "segment_ids")


@pytest.fixture
def features(tiny_features):
    """Two questions with three choices of seven tokens."""
    random = np.random.default_rng(5)
    return {
        "input_ids": random.integers(0, 37, (2, 3, 7), dtype="int32"),
        "input_mask": np.stack([tiny_features["input_mask"]] * 3, axis=1),
        "segment_ids": np.stack([tiny_features["segment_ids"]] * 3, axis=1),
    }


def test_each_choice_has_the_logit_of_its_row(tiny_config, features):
    model = AlbertForMultipleChoice(tiny_config())
    logits = model(features)
    assert logits.shape == (2, 3)
    assert logits.dtype == "float32"
    weights = model.classifier.output_weights.numpy()
    for question in range(2):
        rows = {name: values[question] for name, values in features.items()}
        pooled = model.albert(rows)["pooled_output"].numpy()
        expected = (pooled @ weights.T)[:, 0]
        np.testing.assert_allclose(logits[question], expected, atol=1e-6)
    theirs = {"attention_mask": "input_mask", "token_type_ids": "segment_ids"}
    named = {name: features[own] for name, own in theirs.items()}
    named["input_ids"] = features["input_ids"]
    np.testing.assert_array_equal(model(named), logits)
    ids = {"input_ids": features["input_ids"]}
    ones = {**ids, "input_mask": np.ones_like(features["input_mask"])}
    np.testing.assert_array_equal(model(ids), model(ones))


def test_a_choice_that_is_padding_has_no_chance(tiny_config, features):
    model = AlbertForMultipleChoice(tiny_config())
    logits = model(features).numpy()
    features["input_mask"][0, 2] = 0
    features["input_ids"][1, :] = 0
    features["input_mask"][1, :] = 0
    found = model(features).numpy()
    assert found[0, 2] == NO_CHOICE
    np.testing.assert_allclose(found[0, :2], logits[0, :2], atol=1e-6)
    # The official padding of a batch is a question without any choice.
    assert np.all(found[1] > NO_CHOICE)
    rows = {name: value[0] for name, value in features.items()}
    with pytest.raises(UserError, match=r"2 axes, but .* \[batch, choices, tokens\]"):
        model(rows)


def test_it_equals_the_official_head(shared):
    folder = shared("fixtures/official_race/head")
    model = AlbertForMultipleChoice.from_pretrained(folder)
    inputs = dict(np.load(folder / "inputs.npz"))
    features = {name: inputs[name].reshape(4, 4, 24) for name in _NAMES}
    expected = np.load(folder / "expected.npz")["logits"]
    np.testing.assert_allclose(model(features), expected, rtol=0, atol=1e-5)
