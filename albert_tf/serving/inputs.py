"""Arranges the strings of a call in one column per input, and answers in batches."""

import dataclasses
import re

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.serving.requests import MOST_CHARACTERS
from albert_tf.tasks.prediction import joined
from albert_tf.tasks.prediction import require_numbers
from albert_tf.tokenization.features import as_python
from albert_tf.tokenization.features import elements
from albert_tf.tokenization.normalization import repaired


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The string inputs of a model."""

    ranks: dict  # by name: 1 if an input is a str, 2 if it is a list of str, …
    order: tuple | None  # names in positional order; None if it is unknown
    optional: tuple = ()  # names that may be omitted

    def columns(self, texts, named):
        """Arranges the arguments of a call in columns.

        Args:
            texts: positional arguments.
            named: keyword arguments; None counts as not given.

        Returns:
            A dict of columns, lists of bytes (or of lists of bytes) by input name, and
            a bool: whether the call has a single input instead of many.

        Raises:
            UserError: the texts do not fit the model's inputs.
        """
        given = self._named(texts, named).items()
        columns = {n: _read_once(n, v, self.ranks[n] + 1) for n, v in given}
        bare = [_depth(v) < self.ranks[name] for name, v in columns.items()]
        is_one = any(bare)
        if is_one and not all(bare):
            raise UserError(
                f"Give {_and(columns)} of one input, or lists of all of them."
            )
        columns = {
            name: _encoded(values, self.ranks[name] - is_one, name)
            for name, values in columns.items()
        }
        if is_one:
            columns = {name: [value] for name, value in columns.items()}
        for name, column in columns.items():
            if self.ranks[name] > 1 and not all(map(any, column)):
                raise UserError(f"{name} must hold at least one str for each input.")
        sizes = [len(column) for column in columns.values()]
        if len(set(sizes)) > 1:
            raise UserError(
                f"{_and(columns)} must be equal in number, got {_and(map(str, sizes))}."
            )
        return columns, is_one

    def _named(self, texts, named):
        names = self.order or tuple(sorted(self.ranks))
        if texts and self.order is None:
            asked = ", ".join(f"{name}=…" for name in names)
            raise UserError(f"Give the texts by name: {asked}.")
        if len(texts) > len(names):
            raise UserError(
                f"The model takes {_and(names)}, but got {len(texts)} arguments; put "
                "the texts in a list."
            )
        given = dict(zip(names, texts, strict=False))
        if twice := given.keys() & named.keys():
            raise UserError(f"{_and(sorted(twice))} is given twice.")
        given = {k: v for k, v in {**given, **named}.items() if v is not None}
        if not set(names) - set(self.optional) <= given.keys() <= set(names):
            shown = [f"{n} (optional)" if n in self.optional else n for n in names]
            raise UserError(
                f"The model takes {_and(shown)}, but got {_and(given) or 'nothing'}."
            )
        return given


def _and(names):
    return " and ".join(names)


def _read_once(place, values, depth):
    """Turns iterators, arrays and columns into lists, down to `depth`."""
    values = as_python(values)
    if isinstance(values, str | bytes) or not (depth and hasattr(values, "__iter__")):
        return values
    values = elements(place, values)
    return [_read_once(f"{place}[{i}]", v, depth - 1) for i, v in enumerate(values)]


def _depth(values):
    """Returns 0 for a str, 1 for a list of str, and so on; 1 for an empty list."""
    depth = 0
    while isinstance(values, list):
        depth += 1
        values = values[0] if values else None
    return depth


def _encoded(values, rank, place):
    """Encodes lists of str, nested to depth `rank`, as UTF-8."""
    if rank == 0:
        if isinstance(values, bytes):
            return values
        if not isinstance(values, str):
            raise UserError(f"{place} must be a str, got {type(values).__name__}.")
        return repaired(values).encode()
    if not isinstance(values, list):
        raise UserError(f"{place} must be a list of str, got {type(values).__name__}.")
    return [_encoded(v, rank - 1, f"{place}[{i}]") for i, v in enumerate(values)]


def outputs_of(signature, columns, batch_size):
    """Calls a signature on strings.

    Args:
        signature: a concrete function of string tensors `[batch, …]`.
        columns: lists of bytes (or of lists of bytes) by input name.
        batch_size: inputs per batch; a batch contains inputs of similar length.

    Returns:
        Dict of arrays `[inputs, …]` in the order of the columns; strings are str.
        Outputs as long as the text are padded with 0 or "".

    Raises:
        UserError: the batch size is below 1, the model refuses an input, or an output
            is NaN.
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
    """Counts the bytes of each input over all columns: an array `[inputs]`."""
    return np.sum([[*map(_size, column)] for column in columns.values()], axis=0)


def _batches(order, lengths, batch_size):
    """Yields lists of inputs for a batch, shortest first, within the limits.

    Each input counts with the length of the longest in its batch, since some answers
    are padded.
    """
    batch = []
    for row in order:
        too_much = (len(batch) + 1) * lengths[row] > MOST_CHARACTERS
        if batch and (len(batch) == batch_size or too_much):
            yield batch
            batch = []
        batch.append(row)
    yield batch  # even if empty: the outputs have their names


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
    """Makes a string tensor; pads shorter lists with ""."""
    if any(isinstance(value, list) for value in values):
        return tf.ragged.constant(values, dtype=tf.string).to_tensor(b"")
    return tf.constant(values, dtype=tf.string)


def _readable(values):
    if values.dtype != object:
        return values
    texts = [value.decode("utf-8", "replace") for value in values.ravel()]
    return np.array(texts, dtype=object).reshape(values.shape)
