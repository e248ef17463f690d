"""tf.data over tokenized examples: full shuffle, length buckets or one fixed length."""

import tensorflow as tf

FEATURES = ("input_ids", "input_mask", "segment_ids")
"""What a classifier reads of a batch."""

BUCKETS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Lengths to which batches are padded: few, since XLA compiles a step for each."""


def training_dataset(
    examples, batch_size, max_seq_length, seed, pad_to_max_length=False
):
    """Endless batches; every epoch sees every example once, in a new order.

    Rows of similar length meet in a batch, which is padded to the smallest of
    `BUCKETS` that holds it. A row that found no full batch by the end of an epoch goes
    into the first one of the next.

    Args:
        examples: labelled `TokenizedExamples`.
        batch_size: rows of a batch, over all replicas.
        max_seq_length: the longest length.
        seed: of the order.
        pad_to_max_length: pad every batch to `max_seq_length`, in one static shape;
            TPUs need it.

    Returns:
        A checkpointable `tf.data.Dataset` of dicts: int32 `input_ids`, `input_mask`,
        `segment_ids` `[B, T]` and `labels` (`[B]`, or `[B, L]` for multi-label).
    """
    size = len(examples)
    rows = tf.data.Dataset.range(size).shuffle(size, seed=seed).repeat()
    if pad_to_max_length:
        batches = rows.batch(batch_size, drop_remainder=True)
    else:
        lengths, widths = tf.constant(examples.lengths), _widths(max_seq_length)
        batches = rows.group_by_window(
            key_func=lambda row: _bucket(lengths[row], widths),
            reduce_func=lambda _, window: window.batch(batch_size, drop_remainder=True),
            window_size=batch_size,
        )
    return _features(batches, examples, max_seq_length, pad_to_max_length)


def evaluation_dataset(examples, batch_size, max_seq_length, pad_to_max_length=False):
    """One pass in file order, the last batch as short as it is.

    The elements are those of `training_dataset`; `labels` lacks if there are none.
    """
    batches = tf.data.Dataset.range(len(examples)).batch(batch_size)
    return _features(batches, examples, max_seq_length, pad_to_max_length)


def features_and_labels(batch):
    """Splits a batch for `keras.Model.fit`: `dataset.map(features_and_labels)`."""
    batch = dict(batch)
    labels = batch.pop("labels")
    return batch, labels


def _features(batches, examples, max_seq_length, pad_to_max_length):
    ids, starts = tf.constant(examples.ids), tf.constant(examples.starts)
    lengths = tf.constant(examples.lengths)
    first_lengths = tf.constant(examples.first_lengths)
    labels = None if examples.labels is None else tf.constant(examples.labels)
    widths = _widths(max_seq_length)

    def gather(rows):
        length = tf.gather(lengths, rows)[:, None]  # [B, 1]
        width = max_seq_length
        if not pad_to_max_length:
            width = widths[_bucket(tf.reduce_max(length), widths)]
        position = tf.range(width)[None, :]  # [1, T]
        real = position < length  # [B, T]
        start = tf.gather(starts, rows)[:, None]  # [B, 1]
        place = tf.where(real, start + tf.cast(position, tf.int64), 0)  # [B, T]
        second = position >= tf.gather(first_lengths, rows)[:, None]  # [B, T]
        batch = {
            # Padding is id 0, segment 0, as in the official features.
            "input_ids": tf.where(real, tf.gather(ids, place), 0),
            "input_mask": tf.cast(real, tf.int32),
            "segment_ids": tf.cast(real & second, tf.int32),
        }
        if labels is not None:
            batch["labels"] = tf.gather(labels, rows)
        return batch

    return batches.map(gather, num_parallel_calls=2).prefetch(2)


def _widths(max_seq_length):
    return tf.constant([*(b for b in BUCKETS if b < max_seq_length), max_seq_length])


def _bucket(length, widths):
    return tf.reduce_sum(tf.cast(length > widths, tf.int64))
