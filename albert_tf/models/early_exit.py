"""The encoder as a TensorFlow loop over its layers, which rows may leave early.

Each layer gathers the remaining rows, so that rows that left cost nothing. A graph
holds a shared block once, however many layers run it.
"""

import functools
import itertools

import tensorflow as tf

from albert_tf.layers.exits import first_state
from albert_tf.layers.exits import leaving


def leave_early(encoder, features, head, shape, decision, choices=None):
    """Runs the layers of an encoder, each on the rows that have not left.

    Args:
        encoder: an `AlbertModel`.
        features: dict of int32 `[rows, tokens]`; with several choices per row,
            `[rows * choices, tokens]`.
        head: a function that maps the pooled output, `[staying, hidden]` or `[staying *
            choices, hidden]`, the layer's number from 0, int32 `[]`, and the numbers of
            the remaining rows, int32 `[staying]`, to float32 logits `[staying,
            outputs]`.
        shape: two int32, the shape of the logits of all rows.
        decision: a dict of the arguments of `exits.leaving` from `rule` on.
        choices: int32 scalar, how many lines of the features a row has; None for one.

    Returns:
        logits: float32 `[rows, outputs]`, from the layer after which each row left.
        layers: int32 `[rows]`, how many layers each row took.
    """
    stack = encoder.transformer
    hidden, attention_mask = encoder.block_input(features)
    # The first block would cast, too; an export's products are float32.
    hidden = tf.cast(hidden, stack.compute_dtype)

    def run_layer(blocks, layer, rows, hidden, state, logits, layers):
        own = attention_mask.of_examples(_lines(rows, choices))
        output = stack.run_layer(blocks, hidden, own, layer * len(blocks))
        found = head(encoder.pooled(output), layer, rows)
        output = tf.cast(output, hidden.dtype)
        leaves, state = leaving(found, state, **decision)
        places = rows[:, None]
        logits = tf.tensor_scatter_nd_update(logits, places, found)
        taken = tf.fill(tf.shape(rows), layer + 1)
        layers = tf.tensor_scatter_nd_update(layers, places, taken)
        stays = tf.where(tf.logical_not(leaves))[:, 0]
        return (
            layer + 1,
            tf.gather(rows, stays),
            tf.gather(output, _lines(tf.cast(stays, tf.int32), choices)),
            tf.nest.map_structure(lambda values: tf.gather(values, stays), state),
            logits,
            layers,
        )

    rows, logits = tf.range(shape[0]), tf.zeros(shape)
    state = first_state(logits, decision["kind"])
    carried = (tf.constant(0), rows, hidden, state, logits, tf.zeros_like(rows))
    end = 0
    for blocks, run in itertools.groupby(stack.layer_schedule):
        end += len(list(run))
        carried = tf.while_loop(
            lambda layer, rows, *_, end=end: (layer < end) & (tf.size(rows) > 0),
            functools.partial(run_layer, blocks),
            carried,
            shape_invariants=_shapes(carried),
        )
    *_, logits, layers = carried
    return logits, layers


def _lines(rows, choices):
    """Returns the numbers of the feature lines that belong to `rows`."""
    if choices is None:
        return rows
    return tf.reshape(rows[:, None] * choices + tf.range(choices), [-1])


def _shapes(carried):
    """Returns shapes that hold in every iteration: the number of rows may change."""
    layer, rows, hidden, state, *answers = carried
    some = [rows, hidden, state]
    some = tf.nest.map_structure(lambda v: tf.TensorShape([None, *v.shape[1:]]), some)
    return (layer.shape, *some, *(values.shape for values in answers))
