"""Products of bytes with int8 kernels, which x86 processors compute fast.

Where a processor has no VNNI, oneDNN adds two products in 16 bits and cuts larger sums
off: twice a byte times a weight must stay below 2**15. So either rows take all values
of a byte and weights end at 63, or rows take half of them and weights end at 127.
"""

import keras
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

_LARGEST_BYTE = 255
_LARGEST_INT8 = 127
_SMALLEST = 1e-30  # stands in for the largest value of zeros, to divide by
_OPERATION = "_QuantizedMatMul"


class OneByteProduct:
    """`rows @ kernel + bias`, each value of a row rounded to one byte.

    Each row is scaled by its own largest absolute value, each column of the kernel by
    its own, once, here.

    Args:
        kernel: float32 `[in, out]`, an array.
        bias: float32 `[out]`, an array; by default nothing is added.

    Attributes:
        variables: what the product reads.

    Call: what `rounded` returns, to float32 `[rows, out]`. In a graph only, where each
    product is an operation of its own.
    """

    largest_byte, largest_weight = _LARGEST_BYTE, 63
    # A byte is value / largest of its row * levels + zero, rounded.
    levels, zero = 127, 128

    def __init__(self, kernel, bias=None):
        rounded, unit = _quantized(kernel, self.largest_weight)
        unit = unit / self.levels
        zero = self.zero * rounded.sum(axis=0) * unit
        self._product = [
            _constant(rounded, "int8", "int8_kernel"),
            _constant(unit, "float32", "int8_unit"),
            _constant(-zero, "float32", "int8_zero"),
        ]
        self._bias = [] if bias is None else [_constant(bias, "float32", "bias")]

    @property
    def variables(self):
        return [*self._product, *self._bias]

    @classmethod
    def rounded(cls, rows):
        """Bytes of float32 `[rows, in]`, and what their products are multiplied by.

        Returns:
            uint8 `[rows, in]`, float32 `[rows, 1]`; each for each byte of a value.
        """
        largest = _largest(rows)
        values = rows * (cls.levels / largest) + (cls.zero + 0.5)
        return tf.cast(values, tf.uint8), largest

    def __call__(self, rounded):
        rows, scales = rounded
        products = _product(rows, *(v.value for v in self._product))
        products = self._joined(products * scales)
        for bias in self._bias:
            products = tf.nn.bias_add(products, tf.convert_to_tensor(bias.value))
        return products

    def _joined(self, products):
        return products


class TwoByteProduct(OneByteProduct):
    """As `OneByteProduct`, at twice the cost and more exact.

    Two bytes hold two digits of a value, to the base 127, so it keeps 14 bits instead
    of 8. The kernel keeps 8 instead of 7.
    """

    largest_byte, largest_weight = 127, 127
    # Digits a and b stand for a + (b + 1/2) / 127 - 64.5, and `zero` is added to both.
    levels, zero = 63, 8191 / 128

    @classmethod
    def rounded(cls, rows):
        """As `OneByteProduct.rounded`: first digits of all rows, then second ones."""
        largest = _largest(rows)
        digits = rows * (cls.levels / largest) + 64.5
        first = tf.cast(digits, tf.uint8)
        second = tf.cast((digits - tf.cast(first, tf.float32)) * 127, tf.uint8)
        scales = tf.concat([largest, largest * (1 / 127)], axis=0)
        return tf.concat([first, second], axis=0), scales

    def _joined(self, products):
        return tf.add_n(tf.split(products, 2, axis=0))


class ActivationProduct(OneByteProduct):
    """As `OneByteProduct`, of an activation's values, which have a lower bound.

    All 255 steps of a byte lie between the bound and the largest value of the row.

    Args:
        kernel: as of `OneByteProduct`.
        lowest: float, what no value lies below.
        bias: as of `OneByteProduct`.
    """

    levels, zero = _LARGEST_BYTE, 0

    def __init__(self, kernel, lowest, bias=None):
        rounded, unit = _quantized(kernel, self.largest_weight)
        # Of rows whose values are all the lowest one, which bytes are counted from.
        of_lowest = lowest * rounded.sum(axis=0) * unit
        super().__init__(kernel, of_lowest if bias is None else of_lowest + bias)
        self._lowest = lowest

    def rounded(self, rows):
        """As `OneByteProduct.rounded`."""
        ranges = tf.reduce_max(rows, axis=1, keepdims=True) - self._lowest
        ranges = tf.maximum(ranges, _SMALLEST)
        steps = _LARGEST_BYTE / ranges
        return tf.cast(rows * steps + (0.5 - self._lowest * steps), tf.uint8), ranges


def _quantized(kernel, largest_weight):
    """Whole numbers, and what 1 of them stands for in each column; float64."""
    largest = np.maximum(np.abs(kernel).max(axis=0), _SMALLEST).astype("float64")
    unit = largest / largest_weight
    return np.round(kernel / unit), unit


def _largest(rows):
    return tf.maximum(tf.reduce_max(tf.abs(rows), axis=1, keepdims=True), _SMALLEST)


def _constant(values, dtype, name):
    return keras.Variable(values.astype(dtype), dtype=dtype, trainable=False, name=name)


def _product(rows, kernel, unit, bias):
    """Float32 `(rows @ kernel) * unit + bias` of bytes, int8, and numbers of columns.

    From its first run on, the operation keeps a copy of the kernel in the processor's
    order. So each kernel needs an operation of its own, which only a graph has, and
    must not change.
    """
    inputs = [tf.bitcast(rows, tf.quint8), tf.bitcast(kernel, tf.qint8)]
    # What 255 stands for in rows and 127 in kernels; the operation divides by both.
    of_rows = tf.constant(float(_LARGEST_BYTE * _LARGEST_INT8))
    of_kernels = tf.convert_to_tensor(unit)
    # Quantization tools make this operation, Python has no function for it.
    graph = tf.compat.v1.get_default_graph()
    operation = graph.create_op(
        _OPERATION,
        [
            *inputs,
            tf.convert_to_tensor(bias),
            tf.constant(0.0),
            of_rows,
            of_kernels,
            of_kernels,
        ],
        [tf.float32],
        name="int8_product",
        attrs=_attributes(),
    )
    (products,) = operation.outputs
    products.set_shape([None, kernel.shape[1]])
    return products


def _attributes():
    value, values = attr_value_pb2.AttrValue, attr_value_pb2.AttrValue.ListValue
    quint8, qint8 = tf.quint8.as_datatype_enum, tf.qint8.as_datatype_enum
    float32 = tf.float32.as_datatype_enum

    def types(*members):
        return value(list=values(type=members))

    return {
        "T1": value(type=quint8),
        "T2": value(type=qint8),
        "Tbias": value(type=float32),
        "U": value(type=float32),
        "Tout": value(type=float32),
        "Tdevice_inputs": types(quint8, qint8, float32),
        "Thost_inputs": types(*[float32] * 4),
        "Tdevice_outputs": types(float32),
        "Thost_outputs": types(),
        "is_weight_const": value(b=True),
        "is_bias_const": value(b=True),
        "fused_ops": value(list=values(s=[b"BiasAdd", b"Dequantize"])),
        "input_quant_mode": value(s=b"SCALED"),
        "output_quant_mode": value(s=b"SCALED"),
    }


def are_right():
    """Whether this TensorFlow has the operation, and computes rightly with it."""
    kinds = (OneByteProduct, TwoByteProduct)
    return all(_is_right(kind.largest_byte, kind.largest_weight) for kind in kinds)


def _is_right(byte, weight):
    """Whether the largest sums are what they should be."""
    rows = np.full((2, 64), byte, "uint8")
    kernel = np.full((64, 16), weight, "int8")
    kernel[:, ::2] *= -1
    run = tf.function(_product, autograph=False)
    try:
        found = run(
            tf.constant(rows), tf.constant(kernel), tf.ones(16), tf.fill([16], 3.0)
        )
    except (tf.errors.OpError, RuntimeError, ValueError):
        return False  # no kernel, no operation, or one with other attributes
    # Sums that are cut off are wrong by much more than rounding.
    expected = rows.astype("float32") @ kernel.astype("float32") + 3
    return np.allclose(found, expected, rtol=1e-5)
