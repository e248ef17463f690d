"""Requests that make no sense are refused, alike with every optimization."""

import itertools
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.serving.loading import build_module
from albert_tf.serving.requests import token_features
from tests.serving.answers import example

pytestmark = pytest.mark.slow

IDS = [[2, 5, 6, 3], [2, 7, 3, 0]]
GOOD = {
    "input_ids": IDS,
    "input_mask": [[1, 1, 1, 1], [1, 1, 1, 0]],
    "segment_ids": [[0] * 4] * 2,
}


@pytest.fixture(scope="module", params=[None, "latency", "throughput"])
def signatures(request, saved_model):
    files = bundle.open(saved_model("classification"))
    return build_module([files], optimize_for=request.param)[0].signatures()


def refused(signature, message, **inputs):
    """Asks for one row and for two: with --optimize_for they go other ways."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        signature(**{name: tf.constant(value) for name, value in inputs.items()})


@pytest.mark.parametrize(
    ("name", "values", "most"),
    [
        ("input_ids", (-1, 22, 2**31 - 1), 21),
        ("segment_ids", (-1, 2), 1),
        ("input_mask", (-1, 2), 1),
    ],
)
def test_values_out_of_range(signatures, name, values, most):
    message = f"{name} must be from 0 to {most}"
    for value, rows, place in itertools.product(values, (1, 2), (0, -1)):
        changed = {key: np.array(v, np.int32)[:rows] for key, v in GOOD.items()}
        changed[name][place, 3] = value
        refused(signatures["tokens"], message, **changed)
        rows_of = zip(*(v.tolist() for v in changed.values()), strict=True)
        made = [example(**dict(zip(changed, row, strict=True))) for row in rows_of]
        refused(signatures["examples"], message, examples=made)
    for value in (2**32 + 1, -(2**32) + 1, 2**63 - 1):  # checked before it loses bits
        made = [example(**{"input_ids": [2, 5, 3], name: [1, value, 1]})]
        refused(signatures["examples"], message, examples=made)


@pytest.mark.parametrize(
    ("segments", "include_prompt", "most_segment", "most_mask"),
    [(0, True, 1, 1), (1, True, 0, 1), (2, False, 1, 2), (5, True, 4, 1)],
)
def test_limits_are_those_of_the_model(
    segments, include_prompt, most_segment, most_mask
):
    served = types.SimpleNamespace(
        config=types.SimpleNamespace(vocab_size=9, type_vocab_size=segments),
        task=types.SimpleNamespace(include_prompt=include_prompt),
        layout=types.SimpleNamespace(nowhere=-1, pads_left=segments == 5),
        longest=4,
    )
    good = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), [[1, 0, 0, 1]])
    good |= {"segment_ids": [[0] * 4], "places": [[0, 0]]}
    for name, least, most in (
        ("input_ids", 0, 8),
        ("segment_ids", 0, most_segment),
        ("input_mask", 0, most_mask),
        ("places", -1, 3),
    ):
        for value in (least - 1, least, most, most + 1):
            row = [value, *good[name][0][1:]]
            features = {**good, name: [row]}
            features = {key: tf.constant(v, tf.int64) for key, v in features.items()}
            if least <= value <= most:
                found = token_features(features, served)
                assert found[name].numpy().tolist() == [row]
                assert {values.dtype for values in found.values()} == {tf.int32}
                continue
            allowed = "less than the" if name == "places" else f"from 0 to {most}, the"
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"{name} must be {allowed}"
            ):
                token_features(features, served)
    for features, message in (
        ({key: np.ones([1, 5], int) for key in good}, "more than 4 tokens in a row"),
        ({**good, "input_mask": [[1, 1, 1, 0]]}, "must end with 1: pad rows on the"),
        ({**good, "places": [[0], [0]]}, "places has another shape than input_ids"),
        (dict.fromkeys(good, [[1]]) | {"segment_ids": [[0]]}, "places must be less"),
    ):
        if "end" in message and not served.layout.pads_left:
            continue
        features = {key: tf.constant(v, tf.int64) for key, v in features.items()}
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            token_features(features, served)


def test_shapes(signatures):
    tokens = signatures["tokens"]
    for name in ("input_mask", "segment_ids"):
        for other in (GOOD[name][:1], [row[:3] for row in GOOD[name]]):
            message = f"{name} has another shape than input_ids"
            refused(tokens, message, **{**GOOD, name: other})
    long = {name: np.zeros((1, 33), np.int32) for name in GOOD}
    refused(tokens, "input_ids has more than 32 tokens in a row", **long)
    long = [example(input_ids=[2] * 33)]
    refused(signatures["examples"], "more than 32 tokens in a row", examples=long)
    empty = {name: np.zeros((2, 0), np.int32) for name in GOOD}
    refused(tokens, "input_ids has rows without tokens", **empty)


@pytest.mark.parametrize("others", [0, 1])
def test_an_example_without_ids(signatures, others):
    good = [example(input_ids=[2, 5, 3])] * others
    for bad in (b"", example(), example(input_mask=[1, 1]), example(ids=[2, 3])):
        made = [*good, bad]
        refused(signatures["examples"], "An Example has no input_ids", examples=made)
    for name in ("input_mask", "segment_ids"):
        for length in (1, 4):
            made = [*good, example(**{"input_ids": [2, 5, 3], name: [1] * length})]
            message = f"{name} of an Example has another length than its input_ids"
            refused(signatures["examples"], message, examples=made)


def check_empty(signatures):
    """Checks that an empty batch has an empty answer."""
    for signature, width in itertools.product(signatures.values(), (0, 7)):
        specs = tf.nest.flatten(signature.structured_input_signature)
        shapes = [[0, width][: len(spec.shape)] for spec in specs]
        pairs = zip(specs, shapes, strict=True)
        nothing = {spec.name: tf.zeros(shape, spec.dtype) for spec, shape in pairs}
        assert {len(values) for values in signature(**nothing).values()} == {0}


def test_an_empty_batch_has_an_empty_answer(signatures):
    check_empty(signatures)
    none = signatures["serving_default"](text=tf.constant([], tf.string))
    assert none["probabilities"].shape == (0, 2)


def test_empty_and_uneven_batches_of_pairs_and_encoders(export_of):
    pairs, encoder = (
        tf.saved_model.load(str(export_of(kind))).signatures
        for kind in ("pairs", "pretraining")
    )
    check_empty(pairs)
    check_empty(encoder)
    message, uneven = "text and text_pair differ in number", ["a", "b"]
    refused(pairs["serving_default"], message, text=uneven, text_pair=uneven[:1])


def test_masked_positions(export_of):
    version = export_of("pretraining", task="masked_lm")
    signatures = tf.saved_model.load(str(version)).signatures
    check_empty(signatures)
    message = "masked_lm_positions must be less than the tokens of a row"
    for position in (-1, 4):
        positions = {"masked_lm_positions": [[1], [position]]}
        refused(signatures["tokens"], message, **GOOD, **positions)
    for position in (-1, 4, 2**32):
        made = [example(input_ids=[2, 5, 6, 3], masked_lm_positions=[1, position])]
        refused(signatures["examples"], message, examples=made)
