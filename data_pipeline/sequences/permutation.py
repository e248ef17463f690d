"""The order in which a permutation language model predicts, for a batch of segments.

A segment has two halves: the next batch's memory, and the two texts that follow it.
Each has a permutation of its own. Two numbers a token say who sees whom:

    the query i sees the key j if query_order[i] > key_order[j]

and a token of the content stream sees itself in any case. So no mask `[S, S]` needs to
be made before the model does.

Shapes: B rows, S tokens, P predictions, O length of a permutation.

Source: `_local_perm` and `parser` in data_utils.py of zihangdai/xlnet.
"""

import tensorflow as tf


def draw_permutations(rows, perm_size, seed):
    """Draws permutations of both halves: int32 [rows, 2, perm_size].

    Args:
        rows: B.
        perm_size: O.
        seed: int32 [2], stateless seed.
    """
    keys = tf.random.stateless_uniform([rows, 2, perm_size], seed, dtype=tf.float64)
    return tf.argsort(keys)


def permuted_order(input_ids, chosen, permutations, reuse_len, functional_ids):
    """Returns the orders by which tokens see each other, and the tokens to predict.

    Tokens that are neither chosen nor functional are known: all see them, and they see
    only each other. A target sees the known tokens and the targets before it. The
    second half sees all of the first, the first nothing of the second.

    Args:
        input_ids: int32 [B, S] with a static S.
        chosen: bool [B, S], the tokens to predict.
        permutations: int32 [B, 2, O], of which each half repeats one, block by block.
        reuse_len: length of the first half; both are multiples of O.
        functional_ids: ids that are never predicted, [SEP] and [CLS].

    Returns:
        query_order, key_order: int32 [B, S].
        targets: bool [B, S], the tokens that are predicted.
    """
    tokens = input_ids.shape[1]
    functional = tf.zeros_like(chosen)
    for functional_id in functional_ids:
        functional |= tf.equal(input_ids, functional_id)
    halves = (reuse_len, tokens - reuse_len)
    index = tf.concat(
        [_blocks(permutations[:, i], length) for i, length in enumerate(halves)], axis=1
    )
    targets = chosen & ~functional
    key_order = tf.where(chosen | functional, index, -1)
    query_order = tf.where(targets, key_order, key_order + 1)
    # All of the second half comes after the tokens that the first half's queries see.
    later = tf.constant([0] * halves[0] + [reuse_len + 1] * halves[1])
    return query_order + later, key_order + later, targets


def predictions(input_ids, targets, num_predict):
    """Returns the predictions of the query stream, in order of position.

    Args:
        input_ids: int32 [B, S].
        targets: bool [B, S], no more than P in a row.
        num_predict: P.

    Returns:
        A dict: `target_positions` int32 [B, P], padded with -1, `target_ids` int32 [B,
        P], padded with 0, and `target_weights` float32 [B, P], 0 for padding.
    """
    first = tf.argsort(tf.cast(~targets, tf.int32), stable=True)[:, :num_predict]
    real = tf.gather(targets, first, batch_dims=1)
    ids = tf.gather(input_ids, first, batch_dims=1)
    return {
        "target_positions": tf.where(real, first, -1),
        "target_ids": tf.where(real, ids, 0),
        "target_weights": tf.cast(real, tf.float32),
    }


def _blocks(permutation, length):
    """Repeats a permutation [B, O] from place to place: [B, length]."""
    perm_size = permutation.shape[1]
    begins = tf.range(0, length, perm_size)[:, None]  # [blocks, 1]
    index = begins + permutation[:, None]  # [B, blocks, O]
    return tf.reshape(index, [-1, length])
