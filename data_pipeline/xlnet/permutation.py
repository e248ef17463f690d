"""Choice of the tokens that a permutation language model predicts, and their order.

Spans of a few tokens are chosen one after the other, each within a context of six times
its length; single tokens make up the number. As in the source, a span begins with a
word and its length counts pieces.

A segment has two halves: the next batch's memory, and the two texts behind it. Each
half has its own permutation. Two numbers a token decide what it sees:

    query i sees key j if query_order[i] > key_order[j]

A token of the content stream also sees itself. So only the model makes a mask `[S, S]`.

Shapes: B rows, S tokens, G goal, P predictions, O length of a permutation.

Source: `_sample_mask`, `_local_perm` and `parser` in data_utils.py of zihangdai/xlnet.
"""

import tensorflow as tf

from data_pipeline.sequences.masking import draw_lengths
from data_pipeline.sequences.masking import is_among

_CONTEXT = 6  # tokens of context a token of a span; the official alpha / beta


def choose_targets(word_starts, is_reversed, reuse_len, num_predict, seed, max_gram):
    """Chooses tokens in both halves of each row, special tokens perhaps among them.

    Args:
        word_starts: bool [B, S] with a static S.
        is_reversed: bool [B], rows of reversed text, which are read from their end.
        reuse_len: length of the first half.
        num_predict: tokens to choose; an odd one is in the first half.
        seed: int32 [2], stateless seed.
        max_gram: length of the longest span.

    Returns:
        bool [B, S].
    """
    goals = num_predict - num_predict // 2, num_predict // 2
    halves = word_starts[:, :reuse_len], word_starts[:, reuse_len:]
    chosen = []
    seeds = tf.unstack(tf.random.split(seed, 2))
    for starts, goal, half_seed in zip(halves, goals, seeds, strict=True):
        starts = _turned(starts, is_reversed)
        rows, tokens = tf.shape(starts)[0], starts.shape[1]
        draws = draw_spans(rows, tokens, goal, half_seed, max_gram)
        chosen.append(_turned(choose(starts, goal, *draws), is_reversed))
    return tf.concat(chosen, axis=1)


def draw_spans(rows, tokens, goal, seed, max_gram):
    """Draws the arguments of `choose`: int32 [B, G], float32 [B, G], float32 [B, S].

    The probability of a span of n tokens is proportional to 1/n.
    """
    length_seed, left_seed, fill_seed = tf.unstack(tf.random.split(seed, 3))
    lengths = draw_lengths([rows, goal], max_gram, length_seed)
    lefts = tf.random.stateless_uniform([rows, goal], left_seed)
    return lengths, lefts, tf.random.stateless_uniform([rows, tokens], fill_seed)


def choose(word_starts, goal, lengths, lefts, fills):
    """Chooses tokens as the official code does, given its random numbers.

    Args:
        word_starts: bool [B, S] with a static S.
        goal: G, how many tokens to choose, or all where there are fewer.
        lengths: int32 [B, G], of one span after the other.
        lefts: float32 [B, G] in [0, 1), how much of its context lies before a span.
        fills: float32 [B, S]; single tokens are taken in this order.

    Returns:
        bool [B, S], G of each row.
    """
    tokens = word_starts.shape[1]
    places = tf.range(tokens)

    def is_unfinished(step, at, chosen):
        return (step < goal) & tf.reduce_any(at < tokens)

    def visit(step, at, chosen):
        left_to_choose = goal - _count(chosen)  # [B]
        length = tf.minimum(lengths[:, step], left_to_choose)
        context = length * _CONTEXT
        left = tf.cast(lefts[:, step] * tf.cast(context, tf.float32), tf.int32)
        possible = word_starts & (places >= (at + left)[:, None])
        begin = tf.reduce_min(tf.where(possible, places, tokens), axis=1)
        end = begin + length
        # A span that would reach the end is dropped, and with it all later ones.
        fits = end < tokens
        span = (places >= begin[:, None]) & (places < end[:, None])
        chosen |= span & fits[:, None]
        return step + 1, tf.where(fits, end + context - left, tokens), chosen

    at = tf.zeros(tf.shape(word_starts)[:1], tf.int32)
    state = (0, at, tf.zeros_like(word_starts))
    _, _, chosen = tf.while_loop(is_unfinished, visit, state)
    order = tf.argsort(tf.argsort(tf.where(chosen, 2.0, fills)))
    return chosen | (order < (goal - _count(chosen))[:, None])


def _count(chosen):
    return tf.reduce_sum(tf.cast(chosen, tf.int32), axis=1)


def _turned(rows, is_reversed):
    """Reverses the rows of reversed text."""
    return tf.where(is_reversed[:, None], rows[:, ::-1], rows)


def draw_permutations(rows, perm_size, seed):
    """Draws permutations of both halves from a stateless seed: int32 [B, 2, O]."""
    keys = tf.random.stateless_uniform([rows, 2, perm_size], seed, dtype=tf.float64)
    return tf.argsort(keys)


def permuted_order(input_ids, chosen, permutations, reuse_len, functional_ids):
    """Returns the orders that decide what tokens see, and the tokens to predict.

    Tokens that are neither chosen nor functional are known: all see them, and they see
    only each other. A target sees the known tokens and the targets before it. The
    second half sees all of the first, the first nothing of the second.

    Args:
        input_ids: int32 [B, S] with a static S.
        chosen: bool [B, S], the tokens to predict.
        permutations: int32 [B, 2, O]; each half repeats its own, block by block.
        reuse_len: length of the first half; both are multiples of O.
        functional_ids: ids that are never predicted, [SEP] and [CLS].

    Returns:
        query_order, key_order: int32 [B, S].
        targets: bool [B, S], the tokens that are predicted.
    """
    tokens = input_ids.shape[1]
    functional = is_among(input_ids, functional_ids)
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
        targets: bool [B, S], at most P in a row.
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
    """Repeats a permutation [B, O] block by block: [B, length]."""
    perm_size = permutation.shape[1]
    begins = tf.range(0, length, perm_size)[:, None]  # [blocks, 1]
    index = begins + permutation[:, None]  # [B, blocks, O]
    return tf.reshape(index, [-1, length])
