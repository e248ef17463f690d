"""Tokenized tables on disk, under a key of everything that decides their content."""

import dataclasses
import hashlib
import json
import pathlib
import uuid

import numpy as np

from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tasks.tokenized_examples import tokenize_texts

_VERSION = 1  # raise it when rows are built differently


def cached_examples(table, tokenizer, max_seq_length, cache_dir):
    """`tokenize_texts` of a `Table`, read from `cache_dir` if it was done before.

    The key is a hash of the table's texts, the tokenizer's fingerprint and the length,
    so a changed file, vocabulary or flag can never meet a stale entry. Labels are not
    cached: they come with the table.
    """
    path = pathlib.Path(cache_dir) / f"{_key(table, tokenizer, max_seq_length)}.npz"
    if path.exists():
        with np.load(path) as arrays:
            return TokenizedExamples(**arrays, labels=table.labels)
    examples = tokenize_texts(
        table.texts, table.text_pairs, tokenizer, max_seq_length, table.labels
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        field.name: getattr(examples, field.name)
        for field in dataclasses.fields(examples)
        if field.name != "labels"
    }
    # Workers that share the folder may have the same process id, in their containers.
    temporary = path.with_suffix(f".{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            np.savez(file, **arrays)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return examples


def _key(table, tokenizer, max_seq_length):
    digest = hashlib.sha256()
    facts = [
        _VERSION,
        tokenizer.fingerprint(),
        max_seq_length,
        table.text_pairs is None,
    ]
    digest.update(json.dumps(facts).encode())
    for texts in (table.texts, table.text_pairs or []):
        for text in texts:
            # A NUL cannot occur in a table's text, so it separates without ambiguity.
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:32]
