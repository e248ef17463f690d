"""Loops over depth and rematerialization, neither of which changes a number.

This is the only layer code that needs TensorFlow; it is imported on demand.

`depth_loop`, `rematerialize` and `rematerialized_loop` apply `body(i, hidden)` for
i = 0 .. count - 1 in turn, where `hidden` and the result are `[batch, tokens, hidden]`.
`count` is an int, and `i` is one too, or an int32 scalar in a loop. `variables` are the
Keras variables that `body` reads.
"""

import keras
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla
from tensorflow.python.ops import control_flow_util

from albert_tf.layers.custom_gradient import custom_gradient


def depth_loop(body, hidden, count):
    """Applies `body` in a `tf.while_loop`, which traces and compiles it once.

    XLA must know `count` to differentiate the loop. Returns the last output.
    """

    def step(i, hidden):
        return i + 1, _like(body(i, hidden), hidden)

    _, hidden = tf.while_loop(
        lambda i, _: i < count, step, (0, hidden), maximum_iterations=count
    )
    return hidden


def rematerialize(body, variables, hidden, count):
    """Applies `body` unrolled, and computes it again for the gradient.

    The backward pass keeps only the inputs of the steps, and adds up the gradients of
    the weights as it goes. `body` must be a pure function of `hidden` and `variables`:
    dropout has to come from a given seed. Returns the list of all outputs.
    """

    @custom_gradient
    def run(hidden, *weights):
        inputs = [hidden]
        for i in range(count):
            inputs.append(_pure(body, variables, weights, i, inputs[-1]))

        def gradient(*upstreams):
            # Zeros instead would take as much memory as the weights.
            upstream, totals = None, []
            for i in reversed(range(count)):
                upstream = upstreams[i] if upstream is None else upstream + upstreams[i]
                again, upstream, totals = _after(inputs[i], upstream, totals)
                upstream, by_weights = _backward(
                    body, variables, weights, i, again, upstream
                )
                totals = _sums(totals, by_weights) if totals else by_weights
            return upstream, *totals

        return inputs[1:], gradient

    return run(hidden, *_values(variables))


def rematerialized_loop(body, variables, hidden, count):
    """Works like `rematerialize`, with one `tf.while_loop` forward and one backward.

    Returns the last output.
    """

    @custom_gradient
    def run(hidden, *weights):
        inputs = tf.TensorArray(hidden.dtype, count, element_shape=hidden.shape)

        def forward(i, hidden, inputs):
            output = _pure(body, variables, weights, i, hidden)
            return i + 1, _like(output, hidden), inputs.write(i, hidden)

        _, output, inputs = tf.while_loop(
            lambda i, *_: i < count, forward, (0, hidden, inputs)
        )

        def gradient(upstream):
            def backward(i, upstream, totals):
                upstream, by_weights = _backward(
                    body, variables, weights, i, inputs.read(i), upstream
                )
                return i - 1, upstream, _sums(totals, by_weights)

            totals = [tf.zeros_like(weight) for weight in weights]
            _, upstream, totals = tf.while_loop(
                lambda i, *_: i >= 0, backward, (count - 1, upstream, totals)
            )
            return upstream, *totals

        return output, gradient

    return run(hidden, *_values(variables))


def recompute(function, *tensors, axis, parts):
    """Calls `function(*tensors)`; the gradient computes it again from `tensors`.

    In a rematerialised block, which is computed again as a whole, this saves tensors
    that only `function` needs (attention probabilities, `[batch, heads, tokens,
    tokens]`): they take no memory while the rest of the block computes its gradient,
    and afterwards only one part is in memory at a time.

    Args:
        function: a pure function of tensors; captured tensors get no gradient.
        *tensors: of the same size along `axis`, along which the work is split.
        axis: int.
        parts: the number of parts to split the work into.
    """
    (size,) = {tensor.shape[axis] for tensor in tensors}
    sizes = [(size + part) // parts for part in range(parts)]
    pieces = zip(*(tf.split(tensor, sizes, axis) for tensor in tensors), strict=True)
    return tf.concat([_recomputed(function, piece) for piece in pieces], axis)


def in_parts(queries, *others, function, size):
    """Calls `function(part, *others)` for parts of the queries, one after another.

    The gradient computes each part again, so that only one part's scores are in memory
    at a time.

    Args:
        queries: `[batch, tokens, heads, head size]`, of which `function` must treat
            each token alone.
        *others: tensors.
        function: a pure function of tensors; captured tensors get no gradient.
        size: number of tokens in a part.

    Returns:
        `[batch, tokens, heads, head size]`.
    """
    # The gradient of a branch may read tensors of the branch, and no others.
    queries, *others = map(tf.identity, (queries, *others))
    batch, tokens = tf.unstack(tf.shape(queries)[:2])
    more = (tokens + size - 1) // size * size - tokens
    padded = tf.pad(queries, [[0, 0], [0, more], [0, 0], [0, 0]])
    parts = tf.reshape(padded, [batch, -1, size, *queries.shape[2:]])
    parts = tf.map_fn(
        lambda part: _recomputed(function, [part, *others]),
        tf.transpose(parts, [1, 0, 2, 3, 4]),
        parallel_iterations=1,
    )
    outputs = tf.reshape(tf.transpose(parts, [1, 0, 2, 3, 4]), tf.shape(padded))
    return _like(outputs[:, :tokens], queries)


def _recomputed(function, tensors):
    @custom_gradient
    def run(*tensors):
        def gradient(upstream):
            first, upstream, others = _after(tensors[0], upstream, tensors[1:])
            return _gradients(function, [first, *others], upstream)

        return function(*tensors), gradient

    return run(*tensors)


def _values(variables):
    # Not the variables themselves: a gradient for a variable must reach the variable.
    return [tf.convert_to_tensor(variable.value) for variable in variables]


def _pure(body, variables, weights, i, hidden):
    """Calls `body(i, hidden)` with `weights` as the values of `variables`."""
    mapping = list(zip(variables, weights, strict=True))
    with keras.StatelessScope(state_mapping=mapping):
        return body(i, hidden)


def _backward(body, variables, weights, i, hidden, upstream):
    """Computes step i's gradient with respect to `hidden`, and a list for weights."""

    def step(hidden, *weights):
        return _pure(body, variables, weights, i, hidden)

    by_hidden, *by_weights = _gradients(step, [hidden, *weights], upstream)
    return _like(by_hidden, hidden), by_weights


def _gradients(function, inputs, upstream):
    """Computes `function(*inputs)` again; returns the gradient for each input."""
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(inputs)
        output = function(*inputs)
    return tape.gradient(
        output,
        inputs,
        output_gradients=upstream,
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )


def _sums(totals, more):
    return [total + addend for total, addend in zip(totals, more, strict=True)]


def _like(tensor, other):
    tensor.set_shape(other.shape)
    return tensor


def _after(hidden, upstream, totals):
    """Returns the values; `hidden` now depends on `upstream` (and on `totals`).

    Otherwise the compiler merges the second computation with the first and keeps all
    intermediate results after all. On CPU, XLA drops its optimisation barriers before
    its last merging pass, so there is also a true dependency: a zero that XLA cannot
    recognise.
    """
    if control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()):
        hidden, upstream, *totals = xla.optimization_barrier(hidden, upstream, *totals)
        zero = tf.minimum(tf.abs(upstream[0, 0, 0]), 0)
        for total in totals:
            first = tf.reshape(total[(slice(1),) * total.shape.rank], [])
            zero += tf.cast(tf.minimum(tf.abs(first), 0), zero.dtype)
        return hidden + zero, upstream, totals
    with tf.control_dependencies([upstream]):
        return tf.identity(hidden), upstream, totals
