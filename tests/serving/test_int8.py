"""Products of int8: against NumPy, on any x86 processor, and where there are none."""

import os
import platform
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.errors import UserError
from albert_tf.serving import int8
from albert_tf.serving.building import build_module

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="TensorFlow has int8 products on x86 processors only",
)
_RANDOM = np.random.default_rng(0)


def matrix(rows, columns):
    return _RANDOM.normal(size=(rows, columns)).astype("float32")


def reference(rows, kernel):
    """What quantized matrices give: rounded in float32, multiplied in float64."""
    unit = np.maximum(np.abs(kernel).max(axis=0), np.float32(1e-30)) / 63
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.float32(1e-30))
    # In another order of operations, some numbers near a half are rounded otherwise.
    rounded = np.round(rows * (np.float32(127) / largest)).astype("float64")
    return (rounded @ np.round(kernel / unit)) * (largest / 127.0) * unit


def test_products_are_those_of_the_rounded_matrices():
    kernels = [matrix(48, 32), matrix(48, 32), np.abs(matrix(48, 32))]
    kernels[1][:, 5] = 0
    products = [int8.Int8Product(keras.Variable(kernel)) for kernel in kernels]

    @tf.function(input_signature=[tf.TensorSpec([None, 48])])
    def run(rows):
        # In a loop, as the blocks of a model.
        def step(i, results):
            with tf.control_dependencies(results):
                return i + 1, [product(rows) for product in products]

        empty = [tf.zeros([tf.shape(rows)[0], 32])] * 3
        return tf.while_loop(lambda i, _: i < 2, step, (0, empty))[1]

    for count in (1, 3, 300, 3):  # the processor may want another order of the kernel
        rows = matrix(count, 48)
        rows[0] = 0
        rows[-1] *= 1e6
        for found, kernel in zip(run(rows), kernels, strict=True):
            expected = reference(rows, kernel)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * scale)
            assert count == 1 or not np.array_equal(expected[0], expected[-1])


def test_halves_of_an_odd_number_of_columns(monkeypatch):
    monkeypatch.setattr(int8, "_HALVED_FROM", 16 * 7)
    kernel, rows = matrix(16, 7), matrix(3, 16)
    product = int8.Int8Product(keras.Variable(kernel))
    assert [unit.shape for _, unit in product.parts] == [(4,), (3,)]
    found = tf.function(product)(rows)
    np.testing.assert_allclose(found, reference(rows, kernel), rtol=1e-4, atol=1e-4)


def test_each_row_has_a_scale_of_its_own():
    product = int8.Int8Product(keras.Variable(matrix(16, 8)))
    run = tf.function(product)
    rows, larger = matrix(2, 16), np.array([[1], [1000]], "float32")
    np.testing.assert_array_equal(run(rows)[0], run(rows * larger)[0])


@pytest.mark.parametrize("instructions", ["AVX512_CORE", "AVX2", "SSE41"])
def test_right_without_vnni(instructions):
    # There, sums of two products are cut off at 16 bits.
    code = """
from albert_tf.serving import int8
print(int8._works())
int8._LARGEST_WEIGHT = 127
print(int8._works())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": instructions},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]


def test_refused_where_there_are_none(monkeypatch, classifier):
    monkeypatch.setattr(int8, "_OPERATION", "NoSuchOperation")
    with pytest.raises(UserError, match="TensorFlow lacks or computes wrongly"):
        build_module(classifier.model_dir, compute_dtype="int8")


def test_refused_where_they_are_wrong(monkeypatch, classifier):
    monkeypatch.setattr(int8, "_product", lambda *_: tf.zeros([2, 16]))
    with pytest.raises(UserError, match="TensorFlow lacks or computes wrongly"):
        build_module(classifier.model_dir, compute_dtype="int8")


@pytest.mark.parametrize(
    ("wide", "narrow", "parts"), [(768, 768, 1), (768, 3072, 2), (3072, 768, 2)]
)
def test_any_number_of_rows_in_any_order(wide, narrow, parts):
    kernel = matrix(wide, narrow)
    product = int8.Int8Product(keras.Variable(kernel))
    assert len(product.parts) == parts
    run = tf.function(product, input_signature=[tf.TensorSpec([None, wide])])
    for count in (240, 1, 12, 1, 240):
        rows = matrix(count, wide)
        expected = reference(rows, kernel)
        atol = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(run(rows), expected, rtol=1e-4, atol=atol)


def test_every_layer_of_a_model_that_shares_nothing(
    served_config, tiny_tokenizer, tmp_path
):
    config = served_config(
        tiny_tokenizer,
        num_hidden_layers=3,
        num_hidden_groups=3,
        inner_group_num=2,
        initializer_range=0.3,
    )
    albert_tf.AlbertModel(config).save_pretrained(tmp_path, tiny_tokenizer)
    _, head, _ = build_module(tmp_path, compute_dtype="int8")
    kernels = [v for v in head.variables if v.dtype == "int8"]
    assert len(kernels) == 3 * 2 * 6


def test_several_heads(classifier, tiny_tokenizer, tmp_path):
    directories = [tmp_path / "one", tmp_path / "two"]
    for directory in directories:
        info = {"task": classifier.task.to_dict(), "max_seq_length": 24}
        classifier.model.save_pretrained(directory, tiny_tokenizer, info)
    names = ",".join(map(str, directories))
    alone, _, _ = build_module(classifier.model_dir, compute_dtype="int8")
    together, head, _ = build_module(names, compute_dtype="int8")
    assert sum(v.dtype == "int8" for v in head.variables) == 6
    features = {
        "input_ids": tf.constant([[2, 7, 11, 9, 3]]),
        "input_mask": tf.ones([1, 5], tf.int32),
        "segment_ids": tf.zeros([1, 5], tf.int32),
    }
    (expected,) = alone.compute(features).values()
    for found in together.compute(features).values():
        np.testing.assert_allclose(found, expected, atol=1e-6)
