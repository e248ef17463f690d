"""tf.data over tokenized examples: full shuffle, length buckets or a fixed length."""

import tensorflow as tf

from albert_tf.tokenization.in_graph.features import features_of
from albert_tf.tokenization.in_graph.features import is_token
from albert_tf.tokenization.in_graph.features import numbers

TEACHER_LOGITS = "teacher_logits"
"""Batch feature: float32 `[B, …]`, the result of `Task.distilled`."""

BUCKETS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths to which batches are padded if XLA compiles a step for each length."""

FINE_BUCKETS = (
    *range(4, 64, 4),
    *range(64, 128, 8),
    *range(128, 256, 16),
    *range(256, 513, 32),
)
"""Lengths to which batches are padded without compilation: less padding."""

_NO_TOKEN = -1e30  # a teacher's logit for padding
_BATCHES_OF_A_WINDOW = 64
_SEEDS = 2**31 - 1  # TensorFlow's; it takes this number for a second seed of 0


@tf.autograph.experimental.do_not_convert
def training_dataset(
    examples,
    batch_size,
    max_seq_length,
    seed,
    pad_to_max_length=False,
    buckets=BUCKETS,
    repeat=True,
):
    """Makes endless batches; every epoch sees every example once, in a new order.

    A batch contains rows of similar length, padded to the smallest bucket that fits:
    the shuffled rows of about 64 batches are sorted by length and split into batches,
    which come in random order. Rows left over from the last such window of an epoch
    start the next epoch. Questions with choices are sorted by the number of choices
    first, and a batch has no more choices than its largest question.

    Args:
        examples: labelled `TokenizedExamples`.
        batch_size: rows per batch, over all replicas.
        max_seq_length: maximum number of tokens in a row.
        seed: the seed of the shuffling.
        pad_to_max_length: pad every batch to `max_seq_length`, a static shape, which
            TPUs need.
        buckets: lengths, ascending.
        repeat: False for a single epoch with a short last batch, for
            `keras.Model.fit(dataset, epochs=3)`. Each pass has a new order.

    Returns:
        A checkpointable `tf.data.Dataset` of dicts: int32 `input_ids`, `input_mask`,
        `segment_ids` `[B, T]`, `[B, choices, T]` or `[B, windows, T]`, and `labels`
        (`[B]`, `[B, L]` for multi-label, or `[B, T]` for tokens, -1 for padding), and
        with a teacher `teacher_logits`.
    """
    size = len(examples)
    rows = _shuffled(tf.data.Dataset.range(size), size, seed)
    if repeat:
        rows = rows.repeat()
    if pad_to_max_length:
        batches = rows.batch(batch_size, drop_remainder=repeat)
    else:
        batches = _batches_by_length(rows, examples, batch_size, seed, repeat)
    if not repeat:
        count = -(-size // batch_size)
        batches = batches.apply(tf.data.experimental.assert_cardinality(count))
    return _features(batches, examples, max_seq_length, pad_to_max_length, buckets)


def _shuffled(dataset, buffer_size, seed):
    """Shuffles like `dataset.shuffle`, in an order that depends on `seed` only.

    The order of `shuffle` also depends on `tf.random.set_seed`; if both seeds are
    equal, it is the order used here.
    """
    seed %= _SEEDS
    variant = tf.raw_ops.ShuffleDatasetV3(
        input_dataset=tf.data.experimental.to_variant(dataset),
        buffer_size=tf.constant(buffer_size, tf.int64),
        seed=tf.constant(seed, tf.int64),
        seed2=tf.constant(seed or _SEEDS, tf.int64),
        seed_generator=tf.raw_ops.DummySeedGenerator(),
        output_types=[tf.int64],
        output_shapes=[[]],
        reshuffle_each_iteration=True,
    )
    return tf.data.experimental.from_variant(variant, dataset.element_spec)


def _batches_by_length(rows, examples, batch_size, seed, repeat):
    """Makes batches of row numbers, similar in length; see `training_dataset`."""
    sizes = tf.constant(examples.sizes)
    count = min(max(len(examples) // batch_size, 1), _BATCHES_OF_A_WINDOW)

    def by_length(number, window):
        order = tf.argsort(tf.gather(sizes, window), stable=True)
        # [batches * B] -> [batches, B]
        batches = tf.reshape(tf.gather(window, order), [-1, batch_size])
        keys = tf.random.stateless_uniform(
            tf.shape(batches)[:1], tf.stack([seed, number])
        )
        return tf.gather(batches, tf.argsort(keys))

    def with_rest(number, window):
        whole = tf.size(window) // batch_size * batch_size
        batches = by_length(number, window[:whole])
        # Leftover rows are random, not the longest, so that no length is favored.
        rest = tf.data.Dataset.from_tensors(window[whole:])
        rest = rest.filter(lambda rows: tf.size(rows) > 0)
        return tf.data.Dataset.from_tensor_slices(batches).concatenate(rest)

    windows = rows.batch(count * batch_size, drop_remainder=repeat).enumerate()
    return windows.map(by_length).unbatch() if repeat else windows.flat_map(with_rest)


@tf.autograph.experimental.do_not_convert
def evaluation_dataset(
    examples, batch_size, max_seq_length, pad_to_max_length=False, buckets=BUCKETS
):
    """Makes one pass in file order, with a short last batch.

    Batches are like those of `training_dataset`, without `labels` if there are none.
    """
    batches = tf.data.Dataset.range(len(examples)).batch(batch_size)
    return _features(batches, examples, max_seq_length, pad_to_max_length, buckets)


@tf.autograph.experimental.do_not_convert
def features_and_labels(batch):
    """Splits a batch for `keras.Model.fit`: `dataset.map(features_and_labels)`.

    If the batch has `example_weights`, they come third.
    """
    batch = dict(batch)
    labels, weights = batch.pop("labels"), batch.pop("example_weights", None)
    return (batch, labels) if weights is None else (batch, labels, weights)


def _features(batches, examples, max_seq_length, pad_to_max_length, buckets):
    """Maps batches of row numbers to batches of features; see `training_dataset`."""
    widths = (*(w for w in buckets if w < max_seq_length), max_seq_length)
    ids, starts = tf.constant(examples.ids), tf.constant(examples.starts)
    lengths = tf.constant(examples.lengths)
    first_lengths = tf.constant(examples.first_lengths)
    targets = _targets(examples)

    def gather(rows):
        width, kept = max_seq_length, (slice(None),)
        length = tf.gather(lengths, rows)
        if not pad_to_max_length:
            too_narrow = tf.reduce_max(length) > tf.constant(widths)
            width = tf.gather(widths, tf.reduce_sum(tf.cast(too_narrow, tf.int32)))
            kept += tuple(_largest_counts(length > 0))

        def of_rows(values):
            return tf.gather(values, rows)[kept][..., None]  # [B, 1] or [B, …, 1]

        layout, own_lengths = examples.layout, of_rows(lengths)
        number = numbers(width, own_lengths, layout)
        real = is_token(number, own_lengths)  # [B, T] or [B, …, T]
        place = of_rows(starts) + tf.cast(number, tf.int64)
        place = tf.where(real, place, 0)
        sizes = own_lengths, of_rows(first_lengths)
        own_ids, pad_id = tf.gather(ids, place), examples.pad_id
        prompts = examples.prompt_lengths
        prompts = None if prompts is None else of_rows(tf.constant(prompts))
        batch = features_of(own_ids, number, *sizes, layout, pad_id, prompts)
        return {**batch, **targets(rows, place, real)}

    return batches.map(gather, num_parallel_calls=2).prefetch(2)


def _largest_counts(is_row):
    """Returns a slice for each axis of choices, texts or windows in a batch.

    Args:
        is_row: bool `[B, …]`.
    """
    for axis in range(1, is_row.shape.rank):
        there = tf.reduce_any(is_row, axis=list(range(axis + 1, is_row.shape.rank)))
        counts = tf.reduce_sum(tf.cast(there, tf.int32), axis=axis)
        yield slice(tf.reduce_max(counts))


def _targets(examples):
    """Returns a function that gathers labels, teacher logits and weights of rows."""
    labels, teacher = (
        None if values is None else tf.constant(values)
        for values in (examples.labels, examples.teacher)
    )

    def gather(rows, place, real):
        batch = {}
        if examples.are_of_tokens(examples.labels):
            batch["labels"] = tf.where(real, tf.gather(labels, place), -1)
        elif labels is not None:
            batch["labels"] = tf.gather(labels, rows)
        if examples.are_of_tokens(examples.teacher):
            logits = tf.gather(teacher, place)  # [B, T, …]
            batch[TEACHER_LOGITS] = tf.where(real[..., None], logits, _NO_TOKEN)
        elif teacher is not None:
            batch[TEACHER_LOGITS] = tf.gather(teacher, rows)
        if examples.weights is not None:
            batch["example_weights"] = tf.gather(tf.constant(examples.weights), rows)
        return batch

    return gather
