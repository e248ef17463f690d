"""The loss of a model that knows the frequency of tokens only; bits of a byte."""

import math

import numpy as np

from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.flags import DataFlags
from albert_tf.tokenization import load_tokenizer

_SEED = 12345
_BATCH_SIZE, _BATCHES = 64, 200  # to read of each data set
_TARGETS = {
    "masked_lm": ("masked_lm_ids", "masked_lm_weights"),
    "permutation_lm": ("target_ids", "target_weights"),
}


def unigram_loss(objective, folder, vocabulary, lengths):
    """Computes the cross-entropy in nats of the tokens to predict in held-out data.

    The frequencies are of the tokens to predict in the training data, each token
    counted once more.

    Args:
        objective: `masked_lm` or `permutation_lm`.
        folder: a `Path` with records and their `held_out`.
        vocabulary: the tokenizer's file.
        lengths: tokens and predictions of a sequence.
    """
    tokenizer = load_tokenizer(vocabulary)
    ids, weights = _TARGETS[objective]

    def counts(path):
        dataset = KINDS[objective].dataset(
            str(path),
            tokenizer,
            _BATCH_SIZE,
            *lengths,
            _SEED,
            False,
            masked_lm_prob=None,
            max_gram=DataFlags.max_gram,
        )
        total = np.zeros(tokenizer.vocab_size)
        for batch in dataset.take(_BATCHES):
            kept = np.array(batch[ids])[np.array(batch[weights]) > 0]
            total += np.bincount(kept, minlength=tokenizer.vocab_size)
        return total

    known = counts(folder) + 1
    asked = counts(folder / "held_out")
    return -float(asked @ np.log(known / known.sum()) / asked.sum())


def bits_a_byte(lines, vocabulary):
    """Computes the bits a byte of UTF-8 that a loss of 1 nat a token is."""
    tokenizer = load_tokenizer(vocabulary)
    tokens = sum(len(tokenizer.tokenize(line)) for line in lines)
    return tokens / sum(len(line.encode()) for line in lines) / math.log(2)
