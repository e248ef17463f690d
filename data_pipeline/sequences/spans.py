"""Choice of the tokens that a permutation language model predicts, batch by batch.

Spans of a few tokens are chosen one after the other, each within a context of six times
its length, and single tokens fill up the goal.

Shapes: B rows, S tokens, G goal.

Source: `_sample_mask` in data_utils.py of zihangdai/xlnet. As there, a span begins at
a word and is counted in pieces.
"""

import numpy as np
import tensorflow as tf

_CONTEXT = 6  # tokens of context a token of a span; the official alpha / beta


def choose_targets(word_starts, is_reversed, reuse_len, num_predict, seed, max_gram):
    """Chooses in both halves of each row; special tokens may be among the chosen.

    Args:
        word_starts: bool [B, S] with a static S.
        is_reversed: bool [B], rows of reversed text, which are read from their end.
        reuse_len: length of the first half.
        num_predict: tokens to choose in both halves together, one more in the first if
            they are odd.
        seed: int32 [2], stateless seed.
        max_gram: tokens of a span at most.

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
    shares = 1.0 / np.arange(1, max_gram + 1)
    bounds = np.cumsum(shares / shares.sum())[:-1].astype(np.float32)
    uniform = tf.random.stateless_uniform([rows, goal], length_seed)
    lengths = 1 + tf.reduce_sum(tf.cast(uniform[..., None] >= bounds, tf.int32), -1)
    lefts = tf.random.stateless_uniform([rows, goal], left_seed)
    return lengths, lefts, tf.random.stateless_uniform([rows, tokens], fill_seed)


def choose(word_starts, goal, lengths, lefts, fills):
    """Chooses tokens by the official law, given its draws.

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
        fits = (left_to_choose > 0) & (end < tokens)
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
    """Returns the rows, the reversed ones from their end."""
    return tf.where(is_reversed[:, None], rows[:, ::-1], rows)
