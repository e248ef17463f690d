"""Classifiers that answer after any layer."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.exit_rule import ExitRule
from albert_tf.layers.exits import confidence
from albert_tf.models.base import seeded
from albert_tf.models.flags import AppliedExitFlags
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.tasks.prediction import exit_layers
from tests.models.block_reference import MODERN

_RULE = {"name": "patience", "threshold": 1}
_SURE = {"name": "probability", "threshold": 0.9}
_LAYERS = 6


@pytest.fixture(scope="module")
def features():
    random = np.random.default_rng(0)
    ids = random.integers(5, 37, (9, 7)).astype("int32")
    mask = np.ones_like(ids)
    mask[3:, 5:] = 0
    return {"input_ids": ids, "input_mask": mask, "segment_ids": ids % 2}


@pytest.fixture(scope="module")
def make(tiny_config):
    """Makes a model whose layers disagree."""

    random = np.random.default_rng(1)

    def build(exit_heads="per_layer", changes=(), choices=False, **arguments):
        sizes = {"num_hidden_layers": _LAYERS, "initializer_range": 0.5}
        config = tiny_config(**{**sizes, **dict(changes)})
        model_class = albert_tf.AlbertForMultipleChoice
        if not choices:
            model_class = albert_tf.AlbertForSequenceClassification
            arguments.setdefault("num_labels", 3)
        arguments.setdefault("exit_rule", _RULE)
        with seeded(8):
            model = model_class(config, exit_heads=exit_heads, **arguments)
        for head in filter(None, (model.classifier, model.exit_classifiers)):
            head.output_weights.assign(30 * head.output_weights)
            biases = np.random.default_rng(2).normal(size=head.output_bias.shape)
            head.output_bias.assign(biases)
        adapters = model.albert.transformer.adapters
        for weights in [] if adapters is None else adapters.trainable_variables:
            weights.assign(random.normal(0, 0.3, weights.shape))
        return model

    return build


def _middle(values):
    """A number between the two in the middle, far from rounding."""
    place = len(values) // 2
    return float(np.sort(values)[place - 1 : place + 1].mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [MODERN, {"num_hidden_groups": 2, "inner_group_num": 2, "depth_adapter_rank": 2}],
)
def test_rows_leave_with_the_answer_of_their_layer(make, features, changes):
    model = make(changes=changes)
    of_layers = model(features, all_layers=True).numpy()
    full = model(features).numpy()
    np.testing.assert_allclose(of_layers[:, -1], full, atol=1e-5)
    never = ExitRule("entropy", 1e-9)
    logits, layers = model.leave_early(features, never)
    np.testing.assert_allclose(logits, full, atol=1e-5)
    assert layers.numpy().tolist() == [_LAYERS] * 9
    sure = confidence(of_layers[:, 0], "probability", "single_label")
    half = ExitRule("probability", _middle(sure))  # leave after the first
    for rule in (half, ExitRule("patience", 1)):
        logits, layers = map(np.array, model.leave_early(features, rule))
        expected = exit_layers(of_layers, rule, "single_label")
        np.testing.assert_array_equal(layers, expected)
        assert rule.name == "patience" or len(set(layers)) > 1
        own = of_layers[np.arange(9), layers - 1]
        np.testing.assert_allclose(logits, own, atol=1e-5)
        order = [4, 8, 1]  # neighbours change nothing
        part = {name: values[order] for name, values in features.items()}
        fewer, taken = model.leave_early(part, rule)
        np.testing.assert_allclose(fewer, own[order], atol=1e-5)
        np.testing.assert_array_equal(taken, layers[order])


@pytest.mark.parametrize("exit_heads", ["shared", "per_layer"])
def test_each_layer_has_its_head(make, features, exit_heads):
    model = make(exit_heads)
    states = model.albert(features)["hidden_states"]
    last = model.classifier
    heads = [(last.output_weights, last.output_bias)] * _LAYERS
    if exit_heads == "per_layer":
        own = model.exit_classifiers
        heads[:-1] = zip(*map(np.array, own.trainable_variables), strict=True)
    found = model(features, all_layers=True).numpy()
    for layer, (state, (weights, bias)) in enumerate(zip(states, heads, strict=True)):
        pooled = np.tanh(model.albert.pooler(state[:, 0]))
        expected = pooled @ np.transpose(weights) + bias
        np.testing.assert_allclose(found[:, layer], expected, atol=1e-4)
    logits, layers = map(np.array, model.leave_early(features))
    np.testing.assert_allclose(logits, found[np.arange(9), layers - 1], atol=1e-4)


@pytest.mark.slow
def test_questions_leave_with_all_their_choices(make, features):
    model = make(choices=True)
    asked = {name: v[:8].reshape(4, 2, 7).copy() for name, v in features.items()}
    asked["input_mask"][1, 1] = 0  # a question of one choice
    of_layers = model(asked, all_layers=True).numpy()
    assert of_layers.shape == (4, _LAYERS, 2)
    np.testing.assert_allclose(of_layers[:, -1], model(asked), atol=1e-4)
    sure = confidence(of_layers[:, 0], "probability", "single_label")
    rule = ExitRule("probability", _middle(sure))
    logits, layers = model.leave_early(asked, rule)
    assert len(set(layers.numpy())) > 1
    own = of_layers[np.arange(4), layers.numpy() - 1]
    np.testing.assert_allclose(logits, own, atol=1e-4)
    assert own[1, 1] < -1e8
    del asked["input_mask"]  # all of it counts
    full = model(asked).numpy()
    of_layers = model(asked, all_layers=True).numpy()
    np.testing.assert_allclose(of_layers[:, -1], full, atol=1e-4)
    logits, _ = model.leave_early(asked, ExitRule("entropy", 1e-9))
    np.testing.assert_allclose(logits, full, atol=1e-4)


@pytest.mark.slow
def test_a_model_directory_keeps_heads_and_rule(make, features, tmp_path):
    model = make()
    model.save_pretrained(tmp_path)
    head = json.loads((tmp_path / "head.json").read_text())
    assert head["exit_heads"] == "per_layer"
    assert head["exit_rule"] == {**_RULE, "tolerance": 0.1}
    again = type(model).from_pretrained(tmp_path)
    expected = model.leave_early(features)
    for found, own in zip(again.leave_early(features), expected, strict=True):
        np.testing.assert_array_equal(found, own)
    with pytest.raises(UserError, match="Only a model directory can hold exit"):
        model.save_pretrained(tmp_path / "tf1", format="tf1")
    assert not (tmp_path / "tf1").exists()
    plain = type(model).from_pretrained(tmp_path, exit_heads=None)
    np.testing.assert_array_equal(plain(features), model(features))
    with pytest.raises(UserError, match="no exit heads"):
        plain.leave_early(features)
    # Another number of labels: new heads, the same encoder.
    other = type(model).from_pretrained(tmp_path, num_labels=5)
    assert other(features, all_layers=True).shape == (9, _LAYERS, 5)
    found, own = (m.albert(features)["pooled_output"] for m in (other, model))
    np.testing.assert_array_equal(found, own)


def test_heads_and_rules_that_do_not_fit_are_refused(make, features):
    with pytest.raises(UserError, match="learn with the encoder"):
        make()(features, training=True)
    with pytest.raises(UserError, match="no rule when to leave"):
        make(exit_rule=None).leave_early(features)
    for arguments, message in (
        ({"exit_heads": None}, "has no exit heads, by which"),
        ({"exit_heads": "all"}, "exit_heads='all': expected one of shared, per_layer"),
        ({"changes": {"pooled_tokens": "mean"}}, "'mean' has no vector of one token"),
        ({"changes": {"num_hidden_layers": 1}}, "with num_hidden_layers=1 has no lay"),
        ({"num_labels": 1, "exit_rule": _SURE}, "needs probabilities, but the model p"),
        (
            {"exit_rule": {**_RULE, "threshold": _LAYERS}},
            "No text leaves 6 layers with",
        ),
        ({"pooling": "mean"}, "^pooling='mean' and exit_heads exclude each other"),
        ({"pooling": "max"}, "pooling='max': expected one of mean, cls, or None"),
        ({"window_pooling": "max"}, "window_pooling='max' and exit_heads exclude"),
        ({"window_pooling": "sum"}, "'sum': expected one of mean, max, or None"),
    ):
        with pytest.raises(UserError, match=message):
            make(**arguments)
    for arguments, kind in (
        ({"num_labels": 1}, "regression"),
        ({"num_labels": 2}, "single_label"),
        (
            {"num_labels": 1, "labels": ["a"], "label_kind": "multi_label"},
            "multi_label",
        ),
        ({"num_labels": 2, "label_kind": "regression"}, "regression"),
        ({"changes": {"num_hidden_layers": 2}}, "single_label"),
        ({"choices": True}, "single_label"),
    ):
        assert make(**arguments).exit_kind == kind


def test_all_flags_reach_the_rule_or_replace_the_kept_one():
    fields = {"exit_threshold": 3, "exit_tolerance": 0.5}
    flags = EarlyExitFlags(early_exit=True, exit_heads="shared", **fields)
    rule = ExitRule("patience", 3, 0.5)
    assert flags.exit_arguments() == {"exit_heads": "shared", "exit_rule": rule}
    with pytest.raises(UserError, match="--exit_tolerance needs --early_exit"):
        EarlyExitFlags(exit_tolerance=0.5).check_early_exit()
    assert AppliedExitFlags().asked_rule is None
    assert AppliedExitFlags(exit_rule="none", exit_threshold=2).asked_rule == "none"
    given = AppliedExitFlags(exit_threshold=0.0, exit_tolerance=0.5)
    assert given.asked_rule == {"threshold": 0.0, "tolerance": 0.5}
