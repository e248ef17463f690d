"""Counts of each token in a corpus: a file beside a vocabulary."""

import json

from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically

_FINGERPRINT, _COUNTS = "tokenizer", "counts"


def write(path, tokenizer, counts):
    """Writes the counts of a corpus.

    Args:
        path: the file.
        tokenizer: the tokenizer that made the tokens.
        counts: ints, one for each id.
    """
    found = {_FINGERPRINT: tokenizer.fingerprint(), _COUNTS: [int(n) for n in counts]}
    write_atomically(path, json.dumps(found))


def read(path, tokenizer):
    """Reads the counts of a file.

    Args:
        path: the file.
        tokenizer: the tokenizer that makes the tokens.

    Returns:
        A tuple of ints, one for each id.

    Raises:
        UserError: the file is damaged, or of another vocabulary.
    """
    found = read_json_object(path)
    counts = found.get(_COUNTS)
    if not _are_counts(counts):
        raise UserError(
            f"{path} does not hold the counts of tokens; make it with python -m "
            "data_pipeline.count_tokens."
        )
    # Counts choose how often a token is masked: ties between pieces change nothing.
    known = (tokenizer.fingerprint(), tokenizer.earlier_fingerprint())
    if found.get(_FINGERPRINT) not in known or len(counts) != tokenizer.vocab_size:
        raise UserError(
            f"{path} counts the tokens of another vocabulary; count them again with "
            "this one."
        )
    return tuple(counts)


def _are_counts(value):
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)
