"""Ways to run through the depth of the network that leave its numbers alone.

The only layer code that needs TensorFlow; imported when one of them is asked for.
"""

import keras
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla
from tensorflow.python.ops import control_flow_util


def loop(body, hidden, count):
    """Applies `body(i, hidden)` for i = 0 .. count - 1 in a `tf.while_loop`.

    The body is traced and compiled once, whatever `count` is; XLA needs the
    number of iterations to be known to differentiate it.

    Args:
        body: a function of an int32 scalar and `hidden`, to a tensor like `hidden`.
        hidden: `[batch, tokens, hidden]`.
        count: int.

    Returns:
        `[batch, tokens, hidden]`.
    """

    def step(i, hidden):
        output = body(i, hidden)
        output.set_shape(hidden.shape)
        return i + 1, output

    _, hidden = tf.while_loop(
        lambda i, _: i < count, step, (0, hidden), maximum_iterations=count
    )
    return hidden


def rematerialize(block, variables, hidden):
    """Computes `block(hidden)`, and computes it again for the gradient.

    Only `hidden` is kept for the backward pass. The block must be a pure function
    of `hidden` and `variables`: dropout has to come from a given seed.

    Args:
        block: a function of `hidden`.
        variables: the Keras variables that it reads.
        hidden: `[batch, tokens, hidden]`.

    Returns:
        The output of `block`.
    """

    def pure_block(hidden, weights):
        mapping = list(zip(variables, weights, strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return block(hidden)

    @tf.custom_gradient
    def run(hidden, *weights):
        def gradient(upstream):
            again, upstream = _after(upstream, hidden)
            inputs = [again, *weights]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(inputs)
                output = pure_block(again, weights)
            return tape.gradient(output, inputs, output_gradients=upstream)

        return pure_block(hidden, weights), gradient

    # Not the values themselves: a gradient for a variable must reach the variable.
    return run(hidden, *[tf.convert_to_tensor(v.value) for v in variables])


def _after(upstream, hidden):
    """`hidden` and `upstream`, such that `hidden` depends on `upstream`.

    Otherwise the compiler merges the second computation with the first, and all
    intermediate results are kept after all. XLA drops its optimisation barriers
    before the last of its merging passes on CPU, so there is a true dependency
    too: a zero that it cannot know to be one.
    """
    if control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()):
        hidden, upstream = xla.optimization_barrier(hidden, upstream)
        zero = tf.minimum(tf.abs(upstream[:1, :1, :1]), 0)
        return hidden + zero, upstream
    with tf.control_dependencies([upstream]):
        return tf.identity(hidden), upstream
