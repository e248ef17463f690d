"""Models whose sublayers multiply int8, of any number of heads and any activation."""

import platform

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.view import View
from albert_tf.layers.view import pair_bias
from albert_tf.serving.int8 import products
from albert_tf.serving.int8 import sublayers
from albert_tf.serving.loading import build_module

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="TensorFlow has int8 products on x86 processors only",
)
_FEATURES = {
    "input_ids": [[2, 7, 11, 9, 3], [2, 8, 3, 0, 0]],
    "input_mask": [[1] * 5, [1, 1, 1, 0, 0]],
    "segment_ids": [[0] * 5, [0] * 5],
}


@pytest.fixture
def features():
    return {name: tf.constant(values) for name, values in _FEATURES.items()}


@pytest.fixture
def save(served_config, tiny_tokenizer, tmp_path):
    """Saves a model of a `model_class`; returns its directory."""

    def run(model_class, arguments=(), **sizes):
        config = served_config(tiny_tokenizer, initializer_range=0.3, **sizes)
        keras.utils.set_random_seed(5)
        model = model_class(config, **dict(arguments))
        random = np.random.default_rng(0)
        for variable in model.weights:
            if variable.name == "bias":  # new ones are zeros
                variable.assign(random.normal(size=variable.shape) * 0.5)
        model.save_pretrained(tmp_path, tiny_tokenizer)
        return tmp_path

    return run


def test_refused_where_there_are_none(monkeypatch, classifier):
    monkeypatch.setattr(products, "_OPERATION", "NoSuchOperation")
    with pytest.raises(UserError, match="TensorFlow lacks or computes wrongly"):
        build_module(classifier.model_dir, compute_dtype="int8")


def test_refused_where_they_are_wrong(monkeypatch, classifier):
    monkeypatch.setattr(products, "_product", lambda *_: tf.zeros([2, 16]))
    with pytest.raises(UserError, match="TensorFlow lacks or computes wrongly"):
        build_module(classifier.model_dir, compute_dtype="int8")


def test_refused_for_other_blocks(save):
    directory = save(albert_tf.AlbertModel, norm="pre", hidden_act="geglu")
    with pytest.raises(UserError, match="int8 cannot hold .* norm=pre, hidden_act=ge"):
        build_module(directory, compute_dtype="int8")


@pytest.mark.parametrize(
    ("sizes", "kernels"),
    [
        ({"num_attention_heads": 4}, 10),
        ({"num_attention_heads": 1}, 8),
        # Halves of two heads and of one, of 33 and of 32 values.
        ({"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 65}, 10),
        ({"hidden_act": "relu"}, 10),
        ({"hidden_act": "tanh"}, 10),
        ({"hidden_act": "linear"}, 10),
        ({"hidden_act": "gelu_erf"}, 10),
        ({"num_hidden_layers": 3}, 10),
        ({"num_hidden_layers": 2, "num_hidden_groups": 2, "inner_group_num": 2}, 34),
    ],
)
def test_nearly_the_answers_of_float32(save, features, sizes, kernels):
    directory = save(albert_tf.AlbertModel, **sizes)
    expected_of, _, _ = build_module(directory, task="encoder")
    found_of, head, _ = build_module(directory, task="encoder", compute_dtype="int8")
    assert sum(v.dtype == "int8" for v in head.variables) == kernels
    expected, found = expected_of.compute(features), found_of.compute(features)
    for name in ("sequence_output", "pooled_output"):
        error = np.abs(found[name] - expected[name])
        assert 1e-6 < error.max() < 0.5
        assert error.mean() < 0.05 * np.abs(expected[name]).mean()


def test_picked_tokens_ask_for_what_they_may_see(tiny_config):
    """As in the last block, where heads read a few tokens, here of two pairs a row."""
    layer = SelfAttention(tiny_config(initializer_range=0.3))
    layer.build()
    random = np.random.default_rng(0)
    for dense in layer.projections:
        dense.bias.assign(random.normal(size=dense.bias.shape) * 0.5)
    hidden = tf.constant(random.normal(size=(2, 6, 12)), tf.float32)
    view = View(pair_bias(tf.constant([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 2, 2]])))
    positions = tf.constant([[0, 4], [5, 1]])

    def pick(sequence):
        return tf.gather(sequence, positions, batch_dims=1)

    picked = view.of_rows(pick)
    expected = layer.project(hidden, pick(hidden), picked)
    project = sublayers.AttentionProjections(layer)
    found = tf.function(lambda: project(hidden, pick(hidden), picked))()
    assert found.shape == expected.shape == (2, 2, 12)
    # One byte that rounds otherwise moves answers more.
    assert 1e-6 < np.abs(found - expected).max() < 0.05
    of_all = tf.function(lambda: project(hidden, hidden, view))()
    np.testing.assert_allclose(found, pick(of_all), atol=1e-6)


def test_only_the_first_token_asks_in_the_last_block(save, features):
    sizes = {"num_attention_heads": 1, "num_hidden_layers": 3}
    labels = {"labels": ["no", "yes"]}
    directory = save(albert_tf.AlbertForSequenceClassification, labels, **sizes)
    expected_of, _, _ = build_module(directory)
    found_of, _, _ = build_module(directory, compute_dtype="int8")
    (expected,) = expected_of.compute(features).values()
    (found,) = found_of.compute(features).values()
    assert 1e-6 < np.abs(found - expected).max() < 0.02


@pytest.mark.parametrize("activation", sublayers.LOWEST)
def test_no_activation_is_below_its_lowest_value(activation):
    values = ACTIVATION_FUNCTIONS[activation](tf.linspace(-9.0, 0.0, 9001))
    assert tf.reduce_min(values) >= sublayers.LOWEST[activation]


def test_each_row_by_itself(save, features):
    """A text's answer does not depend on the others of its batch."""
    directory = save(albert_tf.AlbertModel, num_hidden_layers=2)
    module, _, _ = build_module(directory, task="encoder", compute_dtype="int8")
    together = module.compute(features)["pooled_output"]
    for i in range(2):
        alone = {name: values[i : i + 1] for name, values in features.items()}
        found = module.compute(alone)["pooled_output"][0]
        # Padding changes last bits of attention, and those some bytes.
        np.testing.assert_allclose(found, together[i], atol=2e-3)


def test_several_heads(classifier, tiny_tokenizer, tmp_path, features):
    directories = [tmp_path / "one", tmp_path / "two"]
    for directory in directories:
        info = {"task": classifier.task.to_dict(), "max_seq_length": 24}
        classifier.model.save_pretrained(directory, tiny_tokenizer, info)
    names = ",".join(map(str, directories))
    alone, _, _ = build_module(classifier.model_dir, compute_dtype="int8")
    together, head, _ = build_module(names, compute_dtype="int8")
    assert sum(v.dtype == "int8" for v in head.variables) == 10
    (expected,) = alone.compute(features).values()
    for found in together.compute(features).values():
        np.testing.assert_allclose(found, expected, atol=1e-6)
