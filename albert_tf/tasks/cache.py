"""A cache of arrays, such as tokens, under a key of all that decides their content."""

import dataclasses
import json
import pathlib
import zipfile

import numpy as np
from absl import logging

from albert_tf.io import checksums
from albert_tf.io.files import replacing_file

_VERSION = 3  # raise it when rows are built differently
# What NumPy raises for files that were cut or are something else.
_DAMAGED = (EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile)


def cached_tokens(task, examples, tokenizer, max_seq_length, cache_dir):
    """Tokenizes by `Task.tokenize`, or reads earlier results from `cache_dir`.

    The key is a hash of the examples, the task's kind and `row_settings`, the
    tokenizer's fingerprint and the length, so a changed file, vocabulary or flag can
    never meet a stale entry. Labels are not cached: they come with the examples. A
    damaged file is made again.

    Returns:
        The result of `Task.tokenize`, with labels.
    """

    def tokenized():
        tokens = task.tokenize(examples, tokenizer, max_seq_length)
        return {n: values for n, values in tokens.arrays().items() if n != "labels"}

    facts = tokens_facts(task, examples, tokenizer, max_seq_length)
    tokens = cached(cache_dir, facts, task.tokens_class, tokenized)
    return dataclasses.replace(
        tokens,
        labels=task.targets(examples, tokens),
        layout=task.row_layout(tokenizer),
        pad_id=tokenizer.pad_id,
    )


def tokens_facts(task, examples, tokenizer, max_seq_length):
    """Lists what decides the rows of `cached_tokens`, for JSON."""
    settings = [getattr(task, name) for name in task.row_settings]
    made_from = [task.kind, examples.inputs_digest(), *settings]
    facts = [_VERSION, made_from, tokenizer.fingerprint(), max_seq_length]
    if tokenizer.layout != tokenizer.usual_layout:
        facts.append(tokenizer.layout.name)
    return facts


def cached(cache_dir, facts, build, make):
    """Reads arrays from the cache, or makes them and writes them there.

    Args:
        cache_dir: the folder.
        facts: all that decides the arrays, for JSON.
        build: makes the result from the arrays, given by name.
        make: makes `{name: array}`.

    Returns:
        The result of `build`.
    """
    key = checksums.of_bytes(json.dumps(facts).encode())[:32]
    path = pathlib.Path(cache_dir) / f"{key}.npz"
    found = _read(path, build)
    if found is None:
        arrays = make()
        with replacing_file(path) as file:
            np.savez(file, **arrays)
        found = build(**arrays)
    return found


def _read(path, build):
    """Builds the result of a file's arrays; returns None if it cannot be read."""
    if not path.exists():
        return None
    try:
        # NumPy leaves a file that is no archive open.
        with open(path, "rb") as file, np.load(file) as arrays:
            return build(**arrays)
    except _DAMAGED as error:
        logging.warning("%s is damaged (%s); making it again.", path, error)
        return None
