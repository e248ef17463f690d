"""Products of int8: against NumPy, and with the instructions of any x86 processor."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.serving.int8.products import ActivationProduct
from albert_tf.serving.int8.products import OneByteProduct
from albert_tf.serving.int8.products import TwoByteProduct

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="TensorFlow has int8 products on x86 processors only",
)
_RANDOM = np.random.default_rng(0)
_LOWEST = -0.5


def matrix(rows, columns):
    return _RANDOM.normal(size=(rows, columns)).astype("float32")


def rounded_kernel(kernel, largest):
    unit = np.maximum(np.abs(kernel).max(axis=0), 1e-30).astype("float64") / largest
    return np.round(kernel / unit) * unit


def largest_of(rows):
    return np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.float32(1e-30))


# What rounded rows are; in float32 as in TensorFlow, or numbers near a half would be
# rounded otherwise.


def one_byte(rows):
    largest = largest_of(rows)
    steps = np.floor(rows * (np.float32(127) / largest) + np.float32(128.5)) - 128
    return steps.astype("float64") * largest / 127


def two_bytes(rows):
    largest = largest_of(rows)
    digits = rows * (np.float32(63) / largest) + np.float32(64.5)
    first = np.floor(digits)
    second = np.floor((digits - first) * np.float32(127))
    both = first + (second.astype("float64") + 0.5) / 127 - 64.5
    return both * largest / 63


def above_the_lowest(rows):
    lowest = np.float32(_LOWEST)
    ranges = rows.max(axis=1, keepdims=True) - lowest
    steps = np.float32(255) / ranges
    steps = np.floor(rows * steps + (np.float32(0.5) - lowest * steps))
    return steps.astype("float64") * ranges / 255 + _LOWEST


KINDS = {
    "one byte": (OneByteProduct, one_byte, 63),
    "two bytes": (TwoByteProduct, two_bytes, 127),
    "activation": (
        lambda kernel, bias=None: ActivationProduct(kernel, _LOWEST, bias),
        above_the_lowest,
        63,
    ),
}


def rows_of(kind, count, width):
    rows = matrix(count, width)
    return np.maximum(rows, _LOWEST) if kind == "activation" else rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [None, np.linspace(-9, 9, 32, dtype="float32")])
def test_products_are_those_of_the_rounded_matrices(kind, bias):
    make, rounded_rows, largest = KINDS[kind]
    kernels = [matrix(48, 32), matrix(48, 32), np.abs(matrix(48, 32))]
    kernels[1][:, 5] = 0
    products = [make(kernel, bias) for kernel in kernels]

    @tf.function(input_signature=[tf.TensorSpec([None, 48])])
    def run(rows):
        # In a loop, as the blocks of a model.
        def step(i, results):
            with tf.control_dependencies(results):
                return i + 1, [p(p.rounded(rows)) for p in products]

        empty = [tf.zeros([tf.shape(rows)[0], 32])] * 3
        return tf.while_loop(lambda i, _: i < 2, step, (0, empty))[1]

    for count in (1, 3, 300, 3):  # the processor may want another order of the kernel
        rows = rows_of(kind, count, 48)
        rows[0] = 0
        rows[-1] *= 1 if kind == "activation" else 1e6
        for found, kernel in zip(run(rows), kernels, strict=True):
            expected = rounded_rows(rows) @ rounded_kernel(kernel, largest)
            expected += 0 if bias is None else bias
            # Sums of bytes are as large as what they are counted from.
            scales = np.abs(rows).max(axis=1, keepdims=True) + 1
            error = np.abs(found - expected) / scales
            assert error.max() < 3e-5
            assert count == 1 or not np.array_equal(expected[0], expected[-1])


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("one byte", 4e-3, 8e-3),
        ("two bytes", 1e-5, 2e-4),
        ("activation", 1e-3, 4e-3),
    ],
)
def test_how_exact_rows_are(kind, least, most):
    """Of a kernel that is whole numbers, so that only rows are rounded."""
    kernel = _RANDOM.integers(-63, 64, (64, 16)).astype("float32")
    kernel[0] = 63
    kernel *= KINDS[kind][2] // 63
    kernel[0] = KINDS[kind][2]
    product = KINDS[kind][0](kernel)
    rows = rows_of(kind, 50, 64)
    found = tf.function(lambda rows: product(product.rounded(rows)))(rows)
    expected = rows @ kernel
    error = np.abs(found - expected).mean() / np.abs(expected).mean()
    assert least < error < most


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_end_where_the_kernel_allows(kind):
    product = KINDS[kind][0](matrix(64, 1))
    rows = np.linspace(-0.5, 1, 6400, dtype="float32").reshape(100, 64)
    rows = np.concatenate([rows, -rows if kind != "activation" else rows], axis=0)
    found, _ = product.rounded(rows)
    assert tf.reduce_max(found) == product.largest_byte


@pytest.mark.parametrize("kind", ["one byte", "two bytes"])
def test_each_row_has_a_scale_of_its_own(kind):
    product = KINDS[kind][0](matrix(16, 8))
    run = tf.function(lambda rows: product(product.rounded(rows)))
    rows, larger = matrix(2, 16), np.array([[1], [1000]], "float32")
    np.testing.assert_array_equal(run(rows)[0], run(rows * larger)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_not_a_number_stays_so(kind):
    product = KINDS[kind][0](matrix(16, 8))
    rows = rows_of(kind, 2, 16)
    rows[0, 3] = np.nan
    found = tf.function(lambda rows: product(product.rounded(rows)))(rows)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("instructions", ["AVX512_CORE", "AVX2", "SSE41"])
def test_right_without_vnni(instructions):
    # There, sums of two products are cut off at 16 bits.
    code = """
from albert_tf.serving.int8 import products
print(products.are_right())
products.OneByteProduct.largest_weight = 127
print(products.are_right())
products.OneByteProduct.largest_weight = 63
products.TwoByteProduct.largest_byte = 255
print(products.are_right())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": instructions},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False", "False"]


@pytest.mark.parametrize(("wide", "narrow"), [(768, 1152), (768, 1536), (1536, 768)])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_rows_in_any_order(kind, wide, narrow):
    make, rounded_rows, largest = KINDS[kind]
    kernel = matrix(wide, narrow)
    product = make(kernel)
    run = tf.function(
        lambda rows: product(product.rounded(rows)),
        input_signature=[tf.TensorSpec([None, wide])],
    )
    for count in (240, 1, 12, 1, 240):
        rows = rows_of(kind, count, wide)
        expected = rounded_rows(rows) @ rounded_kernel(kernel, largest)
        atol = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(run(rows), expected, rtol=1e-4, atol=atol)
