"""Padding of a batch inside the graph; the numbers are the same each way."""

import tensorflow as tf

from albert_tf.row_layout import FEATURES

LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths for which XLA compiles: the padding is at most a half of the tokens."""

# Rows that are computed together: enough to keep a matrix product busy, few enough to
# be of similar length (docs/decisions.md, "Sixteen rows at a time").
GROUP = 16


def traced_once(served, compute, jit_compile=None):
    """Makes one concrete function for all signatures: traced, saved, compiled once."""
    function = tf.function(compute, jit_compile=jit_compile, autograph=False)
    return function.get_concrete_function(served.feature_specs())


def compiled_for_one(served, compute):
    """Computes a single row in a function that XLA compiled, for latency.

    Lengths are padded to the next of `LENGTHS`, for each of which the function is
    compiled once, when it is first needed; larger batches are computed as they are.
    Returns a function like `compute`, which is as `Served.compute`.
    """
    compiled = traced_once(served, compute, jit_compile=True)
    plain = traced_once(served, compute)
    lengths = tf.constant(compiled_lengths(served.longest))
    pads_left = served.layout.pads_left

    def compute_one(features):
        sizes = {name: tf.shape(values)[-1] for name, values in features.items()}
        padded = {}
        for name, values in features.items():
            least = lengths[tf.reduce_sum(tf.cast(sizes[name] > lengths, tf.int32))]
            before = [[0, 0]] * (served.task.feature_axes - 1)
            missing = least - sizes[name]
            columns = [missing, 0] if pads_left else [0, missing]
            # What is no feature of tokens holds places of them.
            filling = 0 if name in FEATURES else served.layout.nowhere
            padded[name] = tf.pad(values, [*before, columns], constant_values=filling)
        numbers = compiled(padded)
        for name, feature in served.task.along.items():
            numbers[name] = numbers[name][:, : sizes[feature]]
        return numbers

    def compute_either(features):
        return tf.cond(
            tf.equal(tf.shape(features["input_ids"])[0], 1),
            lambda: compute_one(features),
            lambda: plain(features),
        )

    return compute_either


def compiled_lengths(longest):
    """Lists the `LENGTHS` below the `longest` of a `Served`, and this."""
    return [*(length for length in LENGTHS if length < longest), longest]


def in_groups(served, compute):
    """Computes rows of similar length together, for throughput.

    The rows of a batch are sorted by length and computed a few at a time, each group
    without the columns that are padding in all its rows. An output along the tokens
    is zero in the columns left out. Returns a function like `compute`, which is as
    `Served.compute`.
    """
    compute = traced_once(served, compute)
    specs = compute.structured_outputs
    pads_left = served.layout.pads_left

    def compute_groups(features):
        ends = _ends(features["input_mask"], pads_left)  # [B]
        order = tf.argsort(ends, stable=True)
        ends = tf.gather(ends, order)
        rows = {name: tf.gather(values, order) for name, values in features.items()}
        groups = tf.maximum((tf.size(ends) + GROUP - 1) // GROUP, 1)

        def step(i, arrays):
            group = slice(i * GROUP, (i + 1) * GROUP)
            tokens = tf.maximum(tf.reduce_max(ends[group]), 1)
            columns = slice(-tokens, None) if pads_left else slice(tokens)
            numbers = compute(_part(rows, group, columns))
            for name, feature in served.task.along.items():
                width = tf.shape(rows[feature])[1] - tf.shape(numbers[name])[1]
                further = [[0, 0]] * (numbers[name].shape.rank - 2)
                numbers[name] = tf.pad(numbers[name], [[0, 0], [0, width], *further])
            written = {name: a.write(i, numbers[name]) for name, a in arrays.items()}
            return i + 1, written

        arrays = {
            name: tf.TensorArray(
                spec.dtype, groups, element_shape=spec.shape, infer_shape=False
            )
            for name, spec in specs.items()
        }
        _, arrays = tf.while_loop(
            lambda i, _: i < groups, step, (0, arrays), parallel_iterations=1
        )
        back = tf.math.invert_permutation(order)
        return {name: tf.gather(a.concat(), back) for name, a in arrays.items()}

    return compute_groups


def _part(features, rows, columns):
    """Takes some rows of all features, and some columns of tokens' features."""
    return {
        name: values[rows][..., columns] if name in FEATURES else values[rows]
        for name, values in features.items()
    }


def _ends(input_mask, pads_left):
    """Counts the columns of each row of a mask `[B, T]` up to its last token.

    Of rows padded on the left, the columns from the first token on. Of a mask `[B,
    choices, T]`, the longest choice's.
    """
    if pads_left:
        input_mask = input_mask[..., ::-1]
    positions = tf.range(1, tf.shape(input_mask)[-1] + 1)  # [T]
    ends = tf.where(input_mask > 0, positions, 0)
    return tf.reduce_max(ends, axis=list(range(1, input_mask.shape.rank)))
