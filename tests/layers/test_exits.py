"""Rules to leave, against NumPy."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.exit_rule import ExitRule
from albert_tf.exit_rule import asked_rule
from albert_tf.layers.exits import first_state
from albert_tf.layers.exits import leaving

_LOGITS = np.random.default_rng(5).normal(0, 2, (40, 6, 3)).astype(np.float32)


def _left(logits, rule, kind):
    """For each layer, which rows leave there if they have not left before."""
    state, found = first_state(logits[:, 0], kind), []
    for layer in range(logits.shape[1]):
        leaves, state = leaving(logits[:, layer], state, rule, kind)
        found.append(np.array(leaves))
    return np.array(found)


def _patience(predictions, same, threshold):
    """PABEE's counter, row by row."""
    found = np.zeros((predictions.shape[1], len(predictions)), bool)
    for row, of_layers in enumerate(predictions):
        count = 0
        for layer in range(1, len(of_layers)):
            count = count + 1 if same(of_layers[layer - 1], of_layers[layer]) else 0
            found[layer, row] = count >= threshold
    return found


def _near(a, b):
    return abs(a - b) < 1.5


@pytest.mark.parametrize(
    ("kind", "rule", "predictions", "same"),
    [
        ("single_label", ("patience", 1), _LOGITS.argmax(-1), np.equal),
        ("single_label", ("patience", 2), _LOGITS.argmax(-1), np.equal),
        ("multi_label", ("patience", 1), _LOGITS > 0, np.array_equal),
        ("regression", ("patience", 1, 1.5), _LOGITS[..., :1], _near),
    ],
)
def test_patience_counts_layers_of_one_answer(kind, rule, predictions, same):
    logits = _LOGITS[..., :1] if kind == "regression" else _LOGITS
    rule = ExitRule(*rule)
    expected = _patience(predictions, same, rule.threshold)
    np.testing.assert_array_equal(_left(logits, rule, kind), expected)
    assert expected.any() and not expected.all()


@pytest.mark.parametrize("kind", ["single_label", "multi_label"])
def test_confidence_is_of_the_probabilities(kind):
    if kind == "multi_label":
        shares = 1 / (1 + np.exp(-_LOGITS))
        shares = np.stack([shares, 1 - shares], -1)  # [N, layers, labels, 2]
    else:
        powers = np.exp(_LOGITS)
        shares = powers / powers.sum(-1, keepdims=True)
    entropies = -(shares * np.log(shares)).sum(-1)
    largest = shares.max(-1)
    if kind == "multi_label":  # the label of which the model is least sure decides
        entropies, largest = entropies.max(-1), largest.min(-1)
    for rule, expected in (
        (ExitRule("entropy", 0.5), entropies < 0.5),
        (ExitRule("probability", 0.7), largest > 0.7),
    ):
        np.testing.assert_array_equal(_left(_LOGITS, rule, kind), expected.T)
        assert expected.any() and not expected.all()


def test_a_rule_that_makes_no_sense_is_refused():
    for fields, told in ((("probability", 1.0), "below 1"),):
        with pytest.raises(UserError, match=told):
            ExitRule(*fields)
    with pytest.raises(UserError, match="No text leaves 4 layers"):
        ExitRule("patience", 4).check_fits("single_label", 4)
    with pytest.raises(UserError, match="needs probabilities"):
        ExitRule("entropy", 0.1).check_fits("regression", 4)


def test_some_fields_replace_those_of_the_stored_rule():
    stored = ExitRule("patience", 5, 0.2)
    assert asked_rule(stored, None) is stored
    assert asked_rule(stored, "none") is None
    assert asked_rule(stored, {"threshold": 2}) == ExitRule("patience", 2, 0.2)
    # The default of another rule, not the stored number of layers.
    assert asked_rule(stored, {"name": "entropy"}) == ExitRule("entropy", 0.3)
    with pytest.raises(UserError, match="expected the name"):
        asked_rule(None, {"threshold": 2})
