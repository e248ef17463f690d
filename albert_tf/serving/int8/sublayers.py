"""An encoder whose projections are products of int8.

Each sublayer is two halves, which two threads compute at the same time: half of the
heads (all, if there is one), half of the intermediate values. So one short text profits
from a second core although its operations are too small to be divided.
"""

import itertools

import keras
import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.layers.activations import ACTIVATION_FUNCTIONS
from albert_tf.models.albert import AlbertModel
from albert_tf.serving.int8.products import ActivationProduct
from albert_tf.serving.int8.products import OneByteProduct
from albert_tf.serving.int8.products import TwoByteProduct
from albert_tf.serving.int8.products import are_right

LOWEST = {"gelu": -0.171, "gelu_erf": -0.171, "relu": 0.0}
"""What no value of an activation lies below."""


def multiply_in_int8(head):
    """Makes the encoder of a head compute its projections in int8.

    All else stays in float32.

    Args:
        head: the `Head` of a model in float32, which can then compute only in a graph,
            and only for inference.

    Raises:
        UserError: the model is an XLNet or has no official blocks, or this TensorFlow
            has no such products.
    """
    encoder = head.model.encoder()
    if not isinstance(encoder, AlbertModel):
        raise UserError(
            "--compute_dtype=int8 is for ALBERT and BERT, and this model is an XLNet; "
            "take --compute_dtype=bfloat16."
        )
    encoder.config.require_official_blocks("--compute_dtype=int8")
    if not are_right():
        raise UserError(
            "--compute_dtype=int8 needs the operation _QuantizedMatMul of TensorFlow's "
            "builds for x86 processors, which this TensorFlow lacks or computes "
            "wrongly; take --compute_dtype=bfloat16."
        )
    replaced, added = _replace_projections(encoder)
    gone = {id(variable) for variable in replaced}
    kept = [variable for variable in head.variables if id(variable) not in gone]
    head.variables = kept + added


def _replace_projections(encoder):
    """Returns the variables that are no longer read, and those read instead."""
    transformer = encoder.transformer
    replaced, added = [], []
    for layers, projections in (
        (transformer.attention, AttentionProjections),
        (transformer.feed_forward, FeedForwardProjections),
    ):
        for layer in layers.values():
            replaced += [v for d in layer.projections for v in d.variables]
            layer.project = projections(layer)
            added += layer.project.variables
    for name in ("embedding_mapping", "pooler"):
        dense = getattr(encoder, name)
        if dense is not None:
            replaced += dense.variables
            projection = Projection(dense)
            setattr(encoder, name, projection)
            added += projection.variables
    return replaced, added


class AttentionProjections:
    """`SelfAttention.project` in int8.

    Values take two bytes: with one, probabilities move almost twice as far
    (docs/decisions.md).

    Args:
        attention: the `SelfAttention`.

    Attributes:
        variables: what is read instead of the variables of the projections.
    """

    def __init__(self, attention):
        config = self._config = attention.config
        *inner, output = attention.projections
        self._halves = []
        for columns in _halves(config.num_attention_heads, config.head_size):
            kernel, bias = _inputs_of(output, columns)
            products = [
                _joint_product(inner, columns, config.head_size**-0.5),
                TwoByteProduct(kernel, bias),
            ]
            self._halves.append(products)
        self.variables = _variables(self._halves)

    def __call__(self, hidden, attending, view, seed=None, recompute=None):
        rounded = TwoByteProduct.rounded(_rows(hidden))
        outputs = []
        for joint, output in self._halves:
            products = joint(rounded)
            query, key, value = self._heads(products, hidden)
            if view.pick is not None:
                query = self._picked_queries(products, hidden, view.pick)
            # As `SelfAttention`, whose tokens stand before heads, with four transposes
            # where here are two: 0.93 of the time of one short sentence.
            scores = tf.matmul(query, key, transpose_b=True) + view.bias
            context = tf.matmul(tf.nn.softmax(scores), value)  # [B, N, T, D]
            context = tf.transpose(context, (0, 2, 1, 3))
            width = query.shape[1] * query.shape[3]
            rows = tf.reshape(context, (-1, width))
            outputs.append(output(TwoByteProduct.rounded(rows)))
        return tf.reshape(tf.add_n(outputs), tf.shape(attending))

    def _heads(self, joint, inputs):
        """Query, key and value `[batch, heads, tokens, size]` of `[rows, columns]`."""
        batch, tokens, _ = tf.unstack(tf.shape(inputs))
        size = self._config.head_size
        heads = joint.shape[1] // (3 * size)
        parts = tf.reshape(joint, (batch, tokens, 3, heads, size))
        return tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))

    def _picked_queries(self, joint, inputs, pick):
        """Queries `[batch, heads, outputs, size]` of some tokens."""
        batch, tokens, _ = tf.unstack(tf.shape(inputs))
        width = joint.shape[1] // 3
        sequence = tf.reshape(joint[:, :width], (batch, tokens, width))
        picked = pick(sequence)
        size = self._config.head_size
        heads = tf.reshape(picked, (batch, -1, width // size, size))
        return tf.transpose(heads, (0, 2, 1, 3))


class FeedForwardProjections:
    """`FeedForward.project` in int8.

    Args:
        feed_forward: the `FeedForward`.

    Attributes: as of `AttentionProjections`.
    """

    def __init__(self, feed_forward):
        config = feed_forward.config
        self._activation = ACTIVATION_FUNCTIONS[config.hidden_act]
        lowest = LOWEST.get(config.hidden_act)
        intermediate, output = feed_forward.projections
        self._halves = []
        for columns in _halves(config.intermediate_size):
            kernel, bias = _inputs_of(output, columns)
            products = [
                OneByteProduct(
                    _array(intermediate.kernel)[:, columns],
                    _array(intermediate.bias)[columns],
                ),
                OneByteProduct(kernel, bias)
                if lowest is None
                else ActivationProduct(kernel, lowest, bias),
            ]
            self._halves.append(products)
        self.variables = _variables(self._halves)

    def __call__(self, hidden):
        rounded = OneByteProduct.rounded(_rows(hidden))
        outputs = []
        for intermediate, output in self._halves:
            values = self._activation(intermediate(rounded))
            outputs.append(output(output.rounded(values)))
        return tf.reshape(tf.add_n(outputs), tf.shape(hidden))


class Projection:
    """A `Dense` in int8, whose inputs take two bytes.

    Args:
        dense: the `Dense`.

    Attributes: as of `AttentionProjections`.
    """

    def __init__(self, dense):
        self._product = TwoByteProduct(_array(dense.kernel), _array(dense.bias))
        self.variables = self._product.variables

    def __call__(self, inputs):
        products = self._product(TwoByteProduct.rounded(_rows(inputs)))
        shape = [*tf.unstack(tf.shape(inputs))[:-1], products.shape[1]]
        return tf.reshape(products, shape)


def _inputs_of(output, columns):
    """Kernel and bias for some of the inputs of a `Dense`; the first ones bring it."""
    bias = None if columns.start else _array(output.bias)
    return _array(output.kernel)[columns], bias


def _joint_product(inner, columns, scale):
    """Query, multiplied by `scale`, key and value side by side, `columns` of each."""
    factors = (scale, 1, 1)
    parts = list(zip(factors, inner, strict=True))
    kernels = [factor * _array(d.kernel)[:, columns] for factor, d in parts]
    biases = [factor * _array(d.bias)[columns] for factor, d in parts]
    return TwoByteProduct(np.concatenate(kernels, axis=1), np.concatenate(biases))


def _variables(halves):
    products = itertools.chain.from_iterable(halves)
    return [variable for product in products for variable in product.variables]


def _array(variable):
    return keras.ops.convert_to_numpy(variable)


def _halves(count, size=1):
    """Slices of two halves of `count` parts of `size` columns; one of a single part."""
    middle = (count + 1) // 2 * size
    halves = slice(0, middle), slice(middle, count * size)
    return halves if count > 1 else halves[:1]


def _rows(values):
    """`[batch, tokens, width]` as `[batch * tokens, width]`."""
    return tf.reshape(values, (-1, values.shape[-1]))
