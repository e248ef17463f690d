"""Any number of strings through a signature, in batches of similar length."""

import re

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.requests import MOST_CHARACTERS
from albert_tf.tasks.prediction import joined
from albert_tf.tasks.prediction import require_numbers


def outputs_of(signature, columns, batch_size):
    """Calls a signature on strings.

    Args:
        signature: a concrete function of string tensors `[batch, …]`.
        columns: a list of bytes (or of lists of bytes) for each of them by name.
        batch_size: inputs answered at a time; similar lengths meet.

    Returns:
        Dict of arrays `[inputs, …]` in the order of the columns, strings as str. Where
        an output is as long as the text, shorter ones are padded with 0 or "".

    Raises:
        UserError: a batch size below 1, inputs that the model refuses, or an answer of
            NaN.
    """
    if batch_size < 1:
        raise UserError(f"batch_size={batch_size}: expected at least 1.")
    lengths = lengths_of(columns)
    order = np.argsort(lengths, kind="stable")
    outputs = []
    for rows in _batches(order, lengths, batch_size):
        batch = {name: _tensor([c[i] for i in rows]) for name, c in columns.items()}
        outputs.append({k: v.numpy() for k, v in _asked(signature, batch).items()})
    back = np.argsort(order)
    found = {name: joined([part[name] for part in outputs]) for name in outputs[0]}
    found = require_numbers({name: values[back] for name, values in found.items()})
    return {name: _readable(values) for name, values in found.items()}


def lengths_of(columns):
    """Counts the bytes of each input of some columns; returns an array `[inputs]`."""
    return np.sum([[*map(_size, column)] for column in columns.values()], axis=0)


def _batches(order, lengths, batch_size):
    """Yields inputs to answer at once, shortest first: none too many or too long.

    Each counts as long as the last: some answers are padded to the longest.
    """
    batch = []
    for row in order:
        too_much = (len(batch) + 1) * lengths[row] > MOST_CHARACTERS
        if batch and (len(batch) == batch_size or too_much):
            yield batch
            batch = []
        batch.append(row)
    yield batch  # of no input, too: the outputs have their names


def _asked(signature, batch):
    try:
        return signature(**batch)
    except tf.errors.InvalidArgumentError as error:
        refused = re.search(r"assertion failed: \[(.+?)\]", error.message)
        if refused is None:
            raise
        raise UserError(refused[1]) from error


def _size(value):
    return len(value) if isinstance(value, bytes) else sum(map(_size, value))


def _tensor(values):
    """Makes a string tensor; rows of lists that differ in length are padded with ""."""
    if any(isinstance(value, list) for value in values):
        return tf.ragged.constant(values, dtype=tf.string).to_tensor(b"")
    return tf.constant(values, dtype=tf.string)


def _readable(values):
    if values.dtype != object:
        return values
    texts = [value.decode("utf-8", "replace") for value in values.ravel()]
    return np.array(texts, dtype=object).reshape(values.shape)
