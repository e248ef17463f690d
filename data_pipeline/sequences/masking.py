"""N-gram masking of whole words, for a batch of sequences at once.

The one implementation: create_pretraining_data calls it for static records and
the input pipeline for dynamic ones. All randomness comes from a stateless seed.

Shapes: B sequences, S tokens, P predictions, W words, N longest n-gram.

Source: `create_masked_lm_predictions` in create_pretraining_data.py of
google-research/albert; section 3.1 of the paper (n-grams, p(n) proportional to
1/n). Unlike there, no span crosses a [SEP], and no word is glued across one.
"""

import numpy as np
import tensorflow as tf

_MASK_PROBABILITY = 0.8
_KEEP_PROBABILITY = 0.1


def mask_tokens(input_ids, word_starts, options, seed, masked_lm_prob=None):
    """Chooses tokens to predict and hides them.

    Args:
        input_ids: int32 [B, S] with a static S, padded with `options.pad_id`.
        word_starts: bool [B, S], which tokens start a word.
        options: a `masking_options.MaskingOptions`.
        seed: int32 [2], stateless seed.
        masked_lm_prob: float64 scalar in place of the options', or None.

    Returns:
        A dict: `input_ids` int32 [B, S] with the masked tokens replaced,
        `masked_lm_positions` and `masked_lm_ids` int32 [B, P] in order of position
        and padded with 0, `masked_lm_weights` float32 [B, P].
    """
    seeds = tf.unstack(tf.random.split(seed, 6))
    special_ids = options.cls_id, options.sep_id, options.pad_id
    special = is_among(input_ids, special_ids)
    if not options.do_whole_word_mask:
        word_starts = tf.ones_like(word_starts)
    words = _find_words(word_starts, special, options.ngram)
    if options.mask_smoothing:
        words["weights"] = _word_weights(input_ids, words, options)
    if masked_lm_prob is None:
        masked_lm_prob = options.masked_lm_prob
    budget = _budget(input_ids, options, masked_lm_prob)
    covered = tf.zeros_like(words["starts"], tf.bool)
    covered = _cover(words, covered, budget, options, seeds[0])
    selected = _covered_tokens(words, covered, special)
    masked = _replace(input_ids, selected, options, seeds[1])
    labels = input_ids
    if options.do_permutation:
        both = _cover(words, covered, budget, options, seeds[2])
        permuted = _covered_tokens(words, both, special) & ~selected
        # The official labels are the tokens before the shuffle.
        masked = _permute(masked, permuted, seeds[3])
        selected |= permuted
    return {"input_ids": masked, **_predictions(labels, selected, options)}


def is_among(input_ids, ids):
    """Marks the places that hold one of some ids: bool, of the shape of `input_ids`."""
    return tf.reduce_any(tf.equal(input_ids[..., None], ids), axis=-1)


def _budget(input_ids, options, masked_lm_prob):
    """Counts the tokens to predict, at least 1, rounded as Python's `round` does."""
    lengths = tf.reduce_sum(
        tf.cast(tf.not_equal(input_ids, options.pad_id), tf.int32), axis=1
    )
    wanted = tf.round(tf.cast(lengths, tf.float64) * masked_lm_prob)
    wanted = tf.maximum(tf.cast(wanted, tf.int32), 1)
    return tf.minimum(wanted, options.max_predictions_per_seq)  # [B]


def _find_words(word_starts, special, ngram):
    """Lists the units of each sequence: words, and special tokens between them.

    Returns:
        A dict: `starts` int32 [B, W + N], the position of each unit (S behind the
        last); `longest` int32 [B, W], how many words in a row begin at a unit, N
        at most and 0 at a special token; `index` int32 [B, S], each token's unit.
    """
    after_special = tf.pad(special[:, :-1], [[0, 0], [1, 0]])  # [B, S]
    is_word = (word_starts | after_special) & ~special
    is_unit = is_word | special
    size = special.shape[1]
    rows_and_positions = tf.cast(tf.where(is_unit), tf.int32)
    starts = tf.RaggedTensor.from_value_rowids(
        rows_and_positions[:, 1],
        rows_and_positions[:, 0],
        nrows=tf.shape(special)[0],
        validate=False,
    ).to_tensor(
        default_value=size, shape=[special.shape[0], size + ngram]
    )  # [B, W + N]
    unit_is_word = tf.gather(
        tf.pad(is_word, [[0, 0], [0, 1]]), starts, batch_dims=1
    )  # [B, W + N]
    run = tf.ones_like(unit_is_word[:, :size])
    longest = tf.zeros_like(starts[:, :size])
    for offset in range(ngram):
        run &= unit_is_word[:, offset : offset + size]
        longest += tf.cast(run, tf.int32)
    index = tf.cumsum(tf.cast(is_unit, tf.int32), axis=1) - 1
    return {"starts": starts, "longest": longest, "index": index}


def _word_weights(input_ids, words, options):
    """Returns the mean token weight of each unit, float32 [B, W]; 0 for no unit."""
    rows, size = tf.shape(input_ids)[0], input_ids.shape[1]
    weights = tf.gather(tf.constant(options.token_weights), input_ids)  # [B, S]
    # One segment for each unit of each row, padding included.
    places = words["index"] + size * tf.range(rows)[:, None]
    means = tf.math.unsorted_segment_mean(weights, places, rows * size)
    return tf.reshape(means, [rows, size])


def _cover(words, covered, budget, options, seed):
    """Covers spans of words until the budget is used up.

    Words are visited in random order; if they have weights, large ones come sooner. At
    each a length is drawn, shortened until it fits the budget, and the span is taken
    unless it meets a covered word. The loop goes over the order of visit, for all
    sequences at once.
    """
    order_seed, length_seed = tf.unstack(tf.random.split(seed, 2))
    longest = words["longest"]
    shape = tf.shape(longest)
    keys = tf.random.stateless_uniform(shape, order_seed)
    if "weights" in words:
        # Draws words without replacement, in proportion to their weights (Efraimidis
        # and Spirakis, 2006).
        keys = -tf.math.log1p(-keys) / words["weights"]
    # Special tokens come last and end a sequence's visits.
    order = tf.argsort(tf.where(longest > 0, keys, np.inf), axis=1)  # [B, W]
    drawn = draw_lengths(
        shape, options.ngram, length_seed, options.favor_shorter_ngram
    )  # [B, W]
    num_words = tf.reduce_sum(tf.cast(longest > 0, tf.int32), axis=1)  # [B]

    def is_unfinished(step, covered, used):
        return tf.reduce_any((used < budget) & (step < num_words))

    def visit(step, covered, used):
        word = order[:, step]  # [B]
        span, tokens = _span_at(words, word, options.ngram)
        possible = tf.gather(longest, word, batch_dims=1)  # [B]
        length = tf.minimum(drawn[:, step], possible)
        fits = tf.range(options.ngram) < length[:, None]  # [B, N]
        fits &= tokens + used[:, None] <= budget[:, None]
        was_covered = tf.gather(covered, span, batch_dims=1)  # [B, N]
        # Longer spans hold more tokens, so those that fit are the first few.
        taken = fits & ~tf.reduce_any(fits & was_covered, axis=1, keepdims=True)
        places = tf.stack([tf.broadcast_to(rows, tf.shape(span)), span], axis=-1)
        covered = tf.tensor_scatter_nd_update(covered, places, was_covered | taken)
        used += tf.reduce_max(tf.where(taken, tokens, 0), axis=1)
        return step + 1, covered, used

    rows = tf.range(shape[0])[:, None]  # [B, 1]
    state = (0, covered, tf.zeros_like(budget))
    return tf.while_loop(is_unfinished, visit, state)[1]


def _span_at(words, word, ngram):
    """Returns the N units from `word` on, and the tokens of its first 1, … N."""
    span = word[:, None] + tf.range(ngram)  # [B, N]
    start = tf.gather(words["starts"], word, batch_dims=1)[:, None]
    return span, tf.gather(words["starts"], span + 1, batch_dims=1) - start


def draw_lengths(shape, longest, seed, favor_shorter=True):
    """Draws lengths of n-grams, int32 of `shape`, from a stateless seed.

    A length n of at most `longest` has a probability proportional to 1/n; without
    `favor_shorter`, the longest has that of 1.
    """
    probabilities = 1.0 / np.arange(1, longest + 1)
    if not favor_shorter:
        probabilities = probabilities[::-1]
    bounds = np.cumsum(probabilities / probabilities.sum())[:-1]
    uniform = tf.random.stateless_uniform(shape, seed)
    lengths = tf.ones(shape, tf.int32)
    for bound in bounds.astype(np.float32):
        lengths += tf.cast(uniform >= bound, tf.int32)
    return lengths


def _covered_tokens(words, covered, special):
    return tf.gather(covered, words["index"], batch_dims=1) & ~special  # [B, S]


def _replace(input_ids, selected, options, seed):
    """Replaces each selected token: 80% by [MASK], 10% by any id, 10% stay."""
    places = tf.where(selected)  # [M, 2]
    choice_seed, id_seed = tf.unstack(tf.random.split(seed, 2))
    shape = tf.shape(places)[:1]
    choice = tf.random.stateless_uniform(shape, choice_seed)
    random_ids = tf.random.stateless_uniform(
        shape, id_seed, maxval=options.vocab_size, dtype=tf.int32
    )
    kept = tf.gather_nd(input_ids, places)
    other = tf.where(choice < _MASK_PROBABILITY + _KEEP_PROBABILITY, kept, random_ids)
    new = tf.where(choice < _MASK_PROBABILITY, options.mask_id, other)
    return tf.tensor_scatter_nd_update(input_ids, places, new)


def _permute(input_ids, selected, seed):
    """Shuffles the selected tokens of each sequence among their positions."""
    places = tf.where(selected)  # [M, 2]
    keys = tf.random.stateless_uniform(tf.shape(places)[:1], seed, dtype=tf.float64)
    # One sort for all sequences: the row number is the leading digit of the key.
    order = tf.argsort(tf.cast(places[:, 0], tf.float64) + keys)
    tokens = tf.gather(tf.gather_nd(input_ids, places), order)
    return tf.tensor_scatter_nd_update(input_ids, places, tokens)


def _predictions(labels, selected, options):
    places = tf.cast(tf.where(selected), tf.int32)  # [M, 2]
    shape = [selected.shape[0], options.num_predictions]

    def padded(values):
        return tf.RaggedTensor.from_value_rowids(
            values, places[:, 0], nrows=tf.shape(selected)[0], validate=False
        ).to_tensor(shape=shape)  # [B, P]

    return {
        "masked_lm_positions": padded(places[:, 1]),
        "masked_lm_ids": padded(tf.gather_nd(labels, places)),
        "masked_lm_weights": padded(tf.ones(tf.shape(places)[:1])),
    }
