"""Products of int8 instead of float32 ones, which x86 processors compute fast."""

import dataclasses
import itertools

import keras
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel

_LARGEST = 127
# Where a processor has no VNNI, oneDNN adds two products of a byte and a weight in 16
# bits: 2 * 255 * 63 fits; 2 * 255 * 127 is cut off, and the answers are wrong.
_LARGEST_WEIGHT = 63
_SMALLEST = 1e-30  # stands in for the largest value of zeros, to divide by
# From so many weights on, a second thread is worth its waking.
_HALVED_FROM = 2**20
_OPERATION = "_QuantizedMatMul"


def multiplied_in_int8(head, model):
    """The `Head` of a model whose blocks compute their projections in int8.

    Each row is scaled by its own largest absolute value when it is multiplied; each
    column of a kernel is, once, here. All else stays in float32.

    Args:
        head: a `Head`.
        model: its `PretrainedModel`, in float32; it is changed, and can then compute
            only in a graph, and only for inference.

    Raises:
        UserError: the model is an XLNet, or this TensorFlow has no such products.
    """
    encoder = model.encoder()
    if not isinstance(encoder, AlbertModel):
        raise UserError(
            "--compute_dtype=int8 is for ALBERT and BERT, and this model is an XLNet; "
            "take --compute_dtype=bfloat16."
        )
    if not _works():
        raise UserError(
            "--compute_dtype=int8 needs the operation _QuantizedMatMul of TensorFlow's "
            "builds for x86 processors, which this TensorFlow lacks or computes "
            "wrongly; take --compute_dtype=bfloat16."
        )
    replaced, added = set(), []
    for dense in encoder.transformer.projections:
        replaced.add(id(dense.kernel))
        product = dense.multiply = Int8Product(dense.kernel)
        added += itertools.chain(*product.parts)
    kept = [variable for variable in head.variables if id(variable) not in replaced]
    return dataclasses.replace(head, variables=kept + added)


class Int8Product:
    """Multiplies rows with a matrix in int8.

    A large matrix is two halves, which two threads multiply at the same time, even
    where each operation has one thread.

    Args:
        kernel: `[in, out]`, a float32 variable.

    Attributes:
        parts: pairs of variables, int8 `[in, columns]` and float32 `[columns]`: some
            columns of the kernel, and what 1 in the product of each stands for.

    Call: float32 `[rows, in]` to `[rows, out]`.
    """

    def __init__(self, kernel):
        values = keras.ops.convert_to_numpy(kernel)
        largest = np.maximum(np.abs(values).max(axis=0), _SMALLEST)
        unit = largest / _LARGEST_WEIGHT
        count = 2 if values.size >= _HALVED_FROM else 1
        kernels = np.array_split(np.round(values / unit), count, axis=1)
        # Rows are divided by their largest value, of which 127 is what 1 becomes.
        units = np.array_split(unit / _LARGEST, count)
        self.parts = [
            (_constant(k, "int8", "int8_kernel"), _constant(u, "float32", "int8_unit"))
            for k, u in zip(kernels, units, strict=True)
        ]

    def __call__(self, rows):
        largest = tf.reduce_max(tf.abs(rows), axis=1, keepdims=True)
        largest = tf.maximum(largest, _SMALLEST)
        rows = tf.cast(tf.round(rows * (_LARGEST / largest)), tf.int8)
        products = [_product(rows, *(v.value for v in part)) for part in self.parts]
        return largest * tf.concat(products, axis=1)


def _constant(values, dtype, name):
    return keras.Variable(values.astype(dtype), dtype=dtype, trainable=False, name=name)


def _product(rows, kernel, unit):
    """Float32 `(rows @ kernel) * unit` of int8 matrices and a number for each column.

    From its first run on, the operation keeps a copy of the kernel in the processor's
    order. So each kernel needs an operation of its own, which only a graph has, and
    must not change.
    """
    inputs = [tf.bitcast(rows, tf.qint8), tf.bitcast(kernel, tf.qint8)]
    no_bias = tf.zeros(kernel.shape[1])
    # What -127 and 127 stand for in rows and in kernels; the operation divides both by
    # 127.
    of_rows, of_kernels = tf.constant(_LARGEST**2.0), tf.convert_to_tensor(unit)
    ranges = [of_rows, of_rows, of_kernels, of_kernels]
    # Quantization tools make this operation, Python has no function for it.
    graph = tf.compat.v1.get_default_graph()
    operation = graph.create_op(
        _OPERATION,
        [*inputs, no_bias, *ranges],
        [tf.float32],
        name="int8_product",
        attrs=_attributes(),
    )
    (products,) = operation.outputs
    products.set_shape([None, kernel.shape[1]])
    return products


def _attributes():
    value, values = attr_value_pb2.AttrValue, attr_value_pb2.AttrValue.ListValue
    qint8, float32 = tf.qint8.as_datatype_enum, tf.float32.as_datatype_enum

    def types(*members):
        return value(list=values(type=members))

    return {
        "T1": value(type=qint8),
        "T2": value(type=qint8),
        "Tbias": value(type=float32),
        "U": value(type=float32),
        "Tout": value(type=float32),
        "Tdevice_inputs": types(qint8, qint8, float32),
        "Thost_inputs": types(*[float32] * 4),
        "Tdevice_outputs": types(float32),
        "Thost_outputs": types(),
        "is_weight_const": value(b=True),
        "is_bias_const": value(b=True),
        "fused_ops": value(list=values(s=[b"BiasAdd", b"Dequantize"])),
        "input_quant_mode": value(s=b"SCALED"),
        "output_quant_mode": value(s=b"SCALED"),
    }


def _works():
    """Whether this TensorFlow has the operation, and computes rightly with it."""
    rows = np.array([[_LARGEST] * 64, [-_LARGEST] * 64], "int8")
    kernel = np.full((64, 16), _LARGEST_WEIGHT, "int8")
    run = tf.function(_product, autograph=False)
    try:
        found = run(tf.constant(rows), tf.constant(kernel), tf.ones(16))
    except (tf.errors.OpError, RuntimeError, ValueError):
        return False  # no kernel, no operation, or one with other attributes
    # Sums that are cut off are wrong by much more than rounding.
    expected = rows.astype("float32") @ kernel.astype("float32")
    return np.allclose(found, expected, rtol=1e-5)
