"""Layers against NumPy references and Keras."""

import itertools
import math
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.exit_rule import EXIT_RULES
from albert_tf.exit_rule import ExitRule
from albert_tf.exit_rule import asked_rule
from albert_tf.layers import relative_positions
from albert_tf.layers import sublayers
from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.layers.activations import compiled_activations
from albert_tf.layers.attention_mask import AttentionMask
from albert_tf.layers.attention_mask import key_bias
from albert_tf.layers.base import CLASSIFIER_SITE
from albert_tf.layers.base import EMBEDDING_SITE
from albert_tf.layers.base import SITES_PER_BLOCK
from albert_tf.layers.base import LayerNorm
from albert_tf.layers.base import dropout
from albert_tf.layers.base import fold_seed
from albert_tf.layers.embeddings import Embeddings
from albert_tf.layers.exits import ExitClassifiers
from albert_tf.layers.exits import first_state
from albert_tf.layers.exits import leaving
from albert_tf.layers.heads import ClassificationHead
from albert_tf.layers.heads import MaskedLMHead
from albert_tf.layers.rematerialization import recompute
from albert_tf.layers.replaceable import replaced
from albert_tf.layers.sublayers import FeedForward
from albert_tf.layers.sublayers import SelfAttention
from albert_tf.layers.transformer_stack import TransformerStack
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import seeded
from albert_tf.models.classification import AlbertForSequenceClassification

_ROWS = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")


def test_heads_of_bfloat16_models_round_no_logit():
    config = albert_tf.AlbertConfig(
        vocab_size=3, embedding_size=8, hidden_size=8, num_attention_heads=2
    )
    head = MaskedLMHead(config, dtype="bfloat16")
    head.build()
    logits = head(_ROWS, tf.cast(_ROWS[0], tf.bfloat16))
    assert np.any(logits != tf.cast(tf.cast(logits, tf.bfloat16), tf.float32))
    model = albert_tf.AlbertForAnswerableQuestions(config, dtype="bfloat16")
    layers = model.answer_beams_head
    types = {layer.compute_dtype for layer in (layers.start, layers.end, layers.answer)}
    assert types == {"float32"}


def reference(inputs):
    inputs = np.asarray(inputs, np.float64)
    centred = inputs - inputs.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)


def layer_norm(config, dtype="float32"):
    layer = LayerNorm(config, dtype=dtype)
    layer.build((None, 8))
    return layer


def test_rows_of_any_variance(tiny_config):
    rows = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
    # The variance of the second row, 1e-6, is far above epsilon but would be lost
    # in the usual x * scale + (shift - mean * scale).
    rows[1] = 100 + 1e-3 * rows[1]
    rows[2] = 5.0
    # With variance 4e-12, epsilon 1e-12 shrinks the row by sqrt(4 / 5).
    rows[3] = [2e-6, -2e-6] * 4
    outputs = keras.ops.convert_to_numpy(layer_norm(tiny_config())(rows))
    np.testing.assert_allclose(outputs[0], reference(rows[0]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs[1], reference(rows[1]), rtol=1e-2, atol=1e-2)
    np.testing.assert_array_equal(outputs[2], 0)
    np.testing.assert_allclose(outputs[3], rows[3] / 2e-6 * np.sqrt(0.8), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_computes_in_float32(tiny_config, dtype):
    layer = layer_norm(tiny_config(), dtype)
    rows = 1000 * np.random.default_rng(1).normal(size=(2, 8))
    outputs = layer(rows.astype("float16"))  # squares overflow float16
    assert keras.backend.standardize_dtype(outputs.dtype) == layer.compute_dtype
    found = keras.ops.convert_to_numpy(keras.ops.cast(outputs, "float32"))
    np.testing.assert_allclose(found, reference(rows), atol=0.02)
    assert layer.gamma.dtype == "float32"


def test_rate_and_scale():
    ones = tf.ones((200, 200))
    dropped = dropout(ones, 0.25, tf.constant([1, 2]), 0).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((dropped == 0).mean() - 0.25) < 0.01
    assert dropout(ones, 0.5, None, 0) is ones
    assert dropout(ones, 0.0, tf.constant([1, 2]), 0) is ones


def test_no_two_sites_of_nearby_seeds_coincide():
    sites = [EMBEDDING_SITE, CLASSIFIER_SITE, *range(24 * SITES_PER_BLOCK)]
    seeds = np.array(list(itertools.product(range(5), range(20))))
    folded = [fold_seed(tf.constant(seeds), site).numpy() for site in sites]
    assert len(np.unique(np.concatenate(folded), axis=0)) == len(seeds) * len(sites)
    # Two primes of xxHash, modulo 2**32. A continued run draws as it began.
    expected = np.array([3 + 5 * 2654435761, 7 + 5 * 2246822519]).astype(np.int32)
    assert fold_seed([3, 7], 5).numpy().tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("changes", "of_block", "depth_loop"),
    [
        ({}, [(0, 0.2), (1, 0.1), (2, 0.1)], False),
        ({}, [(0, 0.2), (1, 0.1), (2, 0.1)], True),
        ({"inner_group_num": 2}, [(0, 0.2), (1, 0.1), (2, 0.1)], True),
        (
            {"position_embedding_type": "disentangled", "position_buckets": 4},
            [(3, 0.1), (0, 0.2), (1, 0.1), (2, 0.1)],
            False,
        ),
    ],
)
def test_each_dropout_of_a_model_has_its_site_and_rate(
    tiny_config, tiny_features, monkeypatch, changes, of_block, depth_loop
):
    """Layers that share all weights draw their own masks."""
    found = []

    def recorded(inputs, rate, seed):
        found.append((seed.next().numpy().tolist(), rate))
        return inputs

    monkeypatch.setattr(keras.random, "dropout", recorded)
    rates = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.2}
    config = tiny_config(num_hidden_layers=3, **rates, **changes)
    model = AlbertForSequenceClassification(config, 2, 0.3, depth_loop=depth_loop)
    model(tiny_features, training=True, dropout_seed=tf.constant([1, 2]))
    count = 3 * config.inner_group_num
    blocks = [(4 * k + site, rate) for k in range(count) for site, rate in of_block]
    expected = [(-1, 0.1), *blocks, (-2, 0.3)]  # from the embeddings to the head
    seeds = [(fold_seed([1, 2], site).numpy().tolist(), r) for site, r in expected]
    assert found == seeds


@pytest.fixture
def hidden():
    return np.random.default_rng(5).normal(size=(2, 7, 12)).astype("float32")


MASK = np.array([[1] * 7, [1] * 4 + [0] * 3])


def make(config, dtype="float32"):
    layer = SelfAttention(config, dtype=dtype, name="attention")
    layer.build()
    return layer


def test_a_bias_by_head_is_each_heads_own(tiny_config, hidden):
    distances = np.abs(np.arange(7)[:, None] - np.arange(7))
    slopes = np.array([0.5, 1.0, 2.0])  # ALiBi (Press et al., arXiv 2108.12409)
    bias = -slopes[None, :, None, None] * distances  # [1, heads, T, T]
    attention_mask = AttentionMask(tf.constant(bias, "float32"))
    layer = make(tiny_config())
    whole = layer(hidden, attention_mask=attention_mask)
    picked = attention_mask.of_rows(lambda rows: tf.gather(rows, [4, 2], axis=1))
    found = layer(hidden, attention_mask=picked)
    np.testing.assert_allclose(found, tf.gather(whole, [4, 2], axis=1), atol=1e-6)
    found = layer(hidden, attention_mask=attention_mask, recompute=recompute)
    np.testing.assert_allclose(found, whole, atol=1e-6)
    found = layer(hidden[1:], attention_mask=attention_mask.of_examples(np.array([1])))
    np.testing.assert_allclose(found, whole[1:], atol=1e-6)


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_stays_finite(dtype, tiny_config, hidden):
    layer = make(tiny_config(), dtype)
    inputs = tf.cast(100 * hidden, layer.compute_dtype)
    outputs = layer(inputs, attention_mask=AttentionMask(key_bias(0 * MASK)))
    assert outputs.dtype == layer.compute_dtype
    assert np.isfinite(tf.cast(outputs, "float32")).all()


@pytest.fixture
def one_kernel(monkeypatch):
    """Lets attention believe in a GPU; lists the calls of Keras' operation."""
    calls = []
    attend = sublayers.ops.dot_product_attention

    def on_cpu(*inputs, flash_attention, **kwargs):
        calls.append(flash_attention)
        return attend(*inputs, **kwargs)

    monkeypatch.setattr(sublayers, "_is_on_jax_and_gpu", lambda: True)
    monkeypatch.setattr(sublayers.ops, "dot_product_attention", on_cpu)
    return calls


def test_one_kernel_on_a_gpu_gives_the_same_numbers(
    tiny_config, one_kernel, monkeypatch
):
    config = tiny_config(hidden_size=16, num_attention_heads=2)
    layer = make(config, "mixed_bfloat16")
    hidden = np.random.default_rng(5).normal(size=(2, 6, 16))
    hidden = tf.cast(hidden, "bfloat16")
    attention_mask = AttentionMask(key_bias(MASK[:, :6]))
    found = tf.cast(layer(hidden, attention_mask=attention_mask), "float32")
    assert one_kernel == [True]
    monkeypatch.setattr(sublayers, "_is_on_jax_and_gpu", lambda: False)
    expected = tf.cast(layer(hidden, attention_mask=attention_mask), "float32")
    assert one_kernel == [True]
    np.testing.assert_allclose(found, expected, atol=0.02)  # bfloat16 near 2


def test_one_kernel_is_left_where_it_cannot_compute(tiny_config, one_kernel):
    """Odd numbers of queries or keys, heads of other sizes, float32, and dropout."""
    for queries, keys, width, dtype, is_one in (
        (4, 8, 8, "bfloat16", True),
        (4, 8, 128, "float16", True),
        (3, 8, 8, "bfloat16", False),
        (4, 7, 8, "bfloat16", False),
        (4, 8, 12, "bfloat16", False),
        (4, 8, 136, "bfloat16", False),
        (4, 8, 8, "float32", False),
    ):
        rows = (tf.zeros((1, n, 2, width), dtype) for n in (queries, keys))
        assert sublayers._is_one_kernel(*rows) is is_one
    sizes = {"hidden_size": 16, "num_attention_heads": 2}
    config = tiny_config(**sizes, attention_probs_dropout_prob=0.1)
    layer = make(config, "mixed_bfloat16")
    mask = AttentionMask(key_bias(MASK[:, :6]))
    layer(tf.zeros((2, 6, 16), "bfloat16"), attention_mask=mask, seed=[1, 2])
    assert one_kernel == []


_HEAD = {"num_labels": 3, "initializer_range": 0.1}
_OF_CONFIG = (SelfAttention, Embeddings, FeedForward, LayerNorm, MaskedLMHead)


@pytest.mark.parametrize(
    ("layer_class", "arguments"),
    [
        *((layer_class, {}) for layer_class in _OF_CONFIG),
        (ClassificationHead, _HEAD),
        (ExitClassifiers, _HEAD),
        (TransformerStack, {"depth_loop": True, "rematerialize": True}),
    ],
)
def test_round_trip(layer_class, arguments, tiny_config):
    layer = layer_class(
        tiny_config(num_hidden_groups=2), dtype="mixed_bfloat16", **arguments
    )
    data = keras.saving.serialize_keras_object(layer)
    copy = keras.saving.deserialize_keras_object(data)
    assert type(copy) is layer_class
    assert copy.config == layer.config
    assert copy.dtype_policy.name == "mixed_bfloat16"
    assert copy.get_config() == layer.get_config()
    for name, value in arguments.items():
        assert getattr(copy, name) == value


@pytest.mark.parametrize(
    ("layer_class", "activation", "names"),
    [
        (SelfAttention, "gelu", ["query", "key", "value", "output_dense"]),
        (FeedForward, "gelu", ["intermediate", "output_dense"]),
        (FeedForward, "geglu", ["intermediate", "gate", "output_dense"]),
    ],
)
def test_projections_that_files_of_keras_number(
    layer_class, activation, names, tiny_config
):
    layer = layer_class(tiny_config(hidden_act=activation))
    assert [projection.name for projection in layer.projections] == names


@pytest.mark.parametrize(
    ("batch", "dtype"), [(682, tf.int32), (683, tf.int64), (None, tf.int64)]
)
def test_numbers_of_a_large_batch_do_not_wrap_around(batch, dtype):
    """683 x 12 x 512 rows of 512 distances are more than int32 can number."""
    tokens = tf.TensorSpec((batch, 512, 12, 1), tf.float32)
    distances = tf.TensorSpec((512, 12, 1), tf.float32)
    rows = tf.TensorSpec((1, 512, 512), tf.int32)
    signature = [tokens, tokens, distances, distances, rows]
    function = tf.function(relative_positions.scores_of_distances, signature)
    graph = function.get_concrete_function().graph
    looked_up = [op for op in graph.get_operations() if op.type == "GatherV2"]
    assert [op.get_attr("Tindices") for op in looked_up] == [dtype] * 2


@pytest.mark.parametrize(
    ("most", "buckets"), [(16, None), (16, 4), (512, 256), (100, 10), (3, 4)]
)
def test_far_distances_share_vectors(most, buckets):
    """As in `make_log_bucket_position` of transformers, and the clamp after it."""
    distances, half = np.arange(1 - most, most), buckets or most
    expected = distances
    if buckets:
        middle = np.float32(buckets // 2)
        sizes = np.float32(np.abs(distances))
        with np.errstate(divide="ignore", invalid="ignore"):
            powers = np.log(sizes / middle) / np.log((most - 1) / middle)
            far = np.ceil(powers * (middle - 1)) + middle
            expected = np.where(sizes <= middle, distances, np.sign(distances) * far)
    expected = np.clip(expected + half, 0, 2 * half - 1)
    np.testing.assert_array_equal(relative_positions._table(most, buckets), expected)


INPUTS = np.linspace(-6, 6, 997)


def by_tanh(x):
    """Values and slopes of the approximation by tanh, in float64."""
    inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return 0.5 * x * (1 + inner), 0.5 * (1 + inner + x * (1 - inner**2) * slope)


def by_erf(x):
    probabilities = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    return x * probabilities, probabilities + x * density


def value_and_gradient(name, inputs, upstream, compiled):
    """Computes a graph's results, and whether it holds something that XLA compiles."""

    @tf.function(autograph=False)
    def run(inputs, upstream):
        with tf.GradientTape() as tape, compiled_activations(compiled):
            tape.watch(inputs)
            outputs = ACTIVATION_FUNCTIONS[name](inputs)
        return outputs, tape.gradient(outputs, inputs, output_gradients=upstream)

    graph = run.get_concrete_function(inputs, upstream).graph.as_graph_def()
    functions = [f for f in graph.library.function if f.attr["_XlaMustCompile"].b]
    return (*run(inputs, upstream), len(functions))


@pytest.mark.parametrize(("name", "exact"), [("gelu", by_tanh), ("gelu_erf", by_erf)])
def test_compiled_bfloat16_is_rounded_once(name, exact):
    """Half a unit in the last place is 2**-8; with rounding in between it is more."""
    inputs = tf.constant(INPUTS, tf.bfloat16)
    upstream = tf.fill(inputs.shape, tf.constant(3.0, tf.bfloat16))
    value, gradient, functions = value_and_gradient(name, inputs, upstream, True)
    values, slopes = exact(inputs.numpy().astype("float64"))
    assert (value.dtype, gradient.dtype) == (tf.bfloat16, tf.bfloat16)
    # Below -3, 1 + tanh cancels in float32, too.
    error = {"rtol": 2.0**-8, "atol": 3e-5}
    np.testing.assert_allclose(value.numpy().astype("float64"), values, **error)
    np.testing.assert_allclose(gradient.numpy().astype("float64"), 3 * slopes, **error)
    assert functions == 2  # the value and the gradient


@pytest.mark.parametrize("name", ACTIVATION_FUNCTIONS)
def test_compiled_float32_is_the_same(name):
    inputs = tf.constant(INPUTS, tf.float32)
    plain = value_and_gradient(name, inputs, tf.sin(inputs), False)
    compiled = value_and_gradient(name, inputs, tf.sin(inputs), True)
    for found, expected in zip(compiled[:2], plain[:2], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=5e-6)
    # What is one operation is left alone.
    assert (plain[2], compiled[2]) == (0, 2 if "gelu" in name else 0)


def test_a_function_is_replaced_while_the_context_lasts():
    gelu = ACTIVATION_FUNCTIONS["gelu"]
    with replaced({"gelu": lambda inputs: -inputs}):
        assert gelu(3.0) == -3.0
        with compiled_activations(False):
            assert gelu(3.0) == -3.0
    assert float(gelu(tf.constant(3.0))) > 2.9


SEED = tf.constant([5, 17], tf.int32)


@pytest.fixture
def features(tiny_features):
    return {name: tf.constant(value) for name, value in tiny_features.items()}


def compiled_step(config, features, **options):
    """Outputs, gradients of the layers, and matrix products that XLA leaves."""
    with seeded(1):
        model = AlbertModel(config, **options)

    @tf.function(jit_compile=True)
    def step(features):
        with tf.GradientTape() as tape:
            outputs = model(features, training=True, dropout_seed=SEED)
            loss = tf.reduce_sum(outputs["sequence_output"] ** 3)
        variables = [v.value for v in model.transformer.trainable_variables]
        return outputs["sequence_output"], tape.gradient(loss, variables)

    hlo = step.experimental_get_compiler_ir(features)(stage="optimized_hlo")
    return *step(features), len(re.findall(r" dot\(", hlo))


@pytest.mark.slow
@pytest.mark.parametrize(
    "depth_loop", [False, pytest.param(True, marks=pytest.mark.nightly)]
)
def test_a_rematerialised_step_has_the_same_numbers(depth_loop, tiny_config, features):
    config = tiny_config(num_hidden_layers=1 + depth_loop)
    expected, gradients, products = compiled_step(config, features)
    options = {"depth_loop": depth_loop, "rematerialize": True}
    found, others, again = compiled_step(config, features, **options)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    # Of all tensors: the gradient of the key's bias is zero but for rounding.
    largest = max(np.abs(gradient).max() for gradient in gradients)
    for gradient, other in zip(others, gradients, strict=True):
        np.testing.assert_allclose(gradient, other, rtol=0, atol=1e-5 * largest)
    # The compiler does not merge the second computation with the first. A block has 8
    # products and twice as many in its gradient. Here attention's own two come in two
    # parts: 10 forward, 10 again, 2 for the scores once more, 20 backward.
    assert depth_loop or again == products + 42 - 24


def test_a_loop_holds_one_layer(tiny_config, features):
    sizes = set()
    for layers in (2, 4):
        model = AlbertModel(tiny_config(num_hidden_layers=layers), depth_loop=True)
        graph = tf.function(model).get_concrete_function(features).graph.as_graph_def()
        sizes.add(sum(len(body.node_def) for body in graph.library.function))
    assert len(sizes) == 1


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


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (("luck",), "no exit rule 'luck'; choose from patience, entropy, probability"),
        (("probability", 1.0), "threshold must be a number above 0 and below 1, got 1"),
        (("entropy", 0.0), "threshold must be a number above 0, got 0.0"),
        (("entropy", True), "threshold must be a number above 0, got True"),
        (("patience", 1, 0), "tolerance must be a number above 0, got 0"),
        (("patience", 1.5), "Patience is a whole number of layers, got 1.5"),
        (("patience", 4), "No text leaves 4 layers with a patience of 4"),
        (("entropy", 0.1), "needs probabilities, but the model predicts a number"),
        (("patience", 3), None),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(rule, message):
    if message is None:
        ExitRule(*rule).check_fits("regression", 4)
        return
    with pytest.raises(UserError, match=message):
        ExitRule(*rule).check_fits("regression", 4)


def test_the_thresholds_of_rules():
    found = {name: (ExitRule(name), rule.limit) for name, rule in EXIT_RULES.items()}
    assert found == {
        "patience": (ExitRule("patience", 3, 0.1), math.inf),
        "entropy": (ExitRule("entropy", 0.3), math.inf),
        "probability": (ExitRule("probability", 0.9), 1),
    }
    for name, threshold in (("entropy", 2.5), ("probability", 0.999)):
        ExitRule(name, threshold).check_fits("single_label", 1)


def test_some_fields_replace_those_of_the_stored_rule():
    stored = ExitRule("patience", 5, 0.2)
    assert asked_rule(stored, None) is stored
    assert asked_rule(stored, "none") is None
    assert asked_rule(stored, {"threshold": 2}) == ExitRule("patience", 2, 0.2)
    # The default of another rule, not the stored number of layers.
    assert asked_rule(stored, {"name": "entropy"}) == ExitRule("entropy", 0.3)
    with pytest.raises(UserError, match="expected the name"):
        asked_rule(None, {"threshold": 2})
