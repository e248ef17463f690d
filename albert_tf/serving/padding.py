"""Ways to pad a batch inside the graph; they do not change the outputs."""

import tensorflow as tf

from albert_tf.row_layout import FEATURES

LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths that XLA compiles for: at most half of the tokens are padding."""

# Rows per group: enough to keep a matrix product busy, few enough to have similar
# lengths (docs/decisions.md, "Sixteen rows at a time").
GROUP = 16


def traced_once(served, compute, jit_compile=None):
    """Makes one concrete function for all signatures: traced and compiled once."""
    function = tf.function(compute, jit_compile=jit_compile, autograph=False)
    return function.get_concrete_function(served.feature_specs())


def compiled_for_one(served, compute):
    """Compiles the computation of single rows by XLA, for latency.

    A row is padded to the next of `LENGTHS`; each is compiled once, on first use.
    Larger batches are computed as usual. Takes and returns a function like
    `Served.compute`.
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
            # All features except `FEATURES` hold token positions.
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
    """Lists the `LENGTHS` below `served.longest`, and `served.longest` itself."""
    return [*(length for length in LENGTHS if length < longest), longest]


def in_groups(served, compute):
    """Computes rows of similar length together, for throughput.

    The rows of a batch are sorted by length and computed in small groups, each without
    the columns that are padding in all its rows. Outputs along the tokens are zero in
    the omitted columns. Takes and returns a function like `Served.compute`.
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
    """Selects rows of all features, and columns of the features with a token axis."""
    return {
        name: values[rows][..., columns] if name in FEATURES else values[rows]
        for name, values in features.items()
    }


def _ends(input_mask, pads_left):
    """Counts the columns of each row of a mask `[B, T]` up to its last token.

    If rows are padded on the left, counts from the first token to the end. For a mask
    `[B, choices, T]`, returns the count of the longest choice.
    """
    if pads_left:
        input_mask = input_mask[..., ::-1]
    positions = tf.range(1, tf.shape(input_mask)[-1] + 1)  # [T]
    ends = tf.where(input_mask > 0, positions, 0)
    return tf.reduce_max(ends, axis=list(range(1, input_mask.shape.rank)))
