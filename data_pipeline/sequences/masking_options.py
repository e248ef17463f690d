"""Options of masking, the number of predictions, and the token counts."""

import dataclasses
import json

import numpy as np

from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically

_FINGERPRINT, _COUNTS = "tokenizer", "counts"  # of a file of token counts
_MOST_SMOOTHING = 2  # weights of billions of tokens, squared, are float32 still


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskingFlags:
    """Choice of the tokens to predict."""

    masked_lm_prob: float = option(
        "Share of the tokens to predict.", 0.15, minimum=0, maximum=1
    )
    max_predictions_per_seq: int | None = option(
        "Largest number of predictions in a sequence; by default what a full "
        "sequence needs, which is 77 at 512 tokens, or 85 with "
        "--objective=permutation_lm.",
        None,
        minimum=1,
    )
    ngram: int = option("Longest masked span, in words.", 3, minimum=1, maximum=512)
    favor_shorter_ngram: bool = option(
        "Mask spans of n words with a probability proportional to 1/n; false favors "
        "the longest spans.",
        True,
    )
    do_whole_word_mask: bool = option(
        "Mask whole words instead of single pieces.", True
    )
    do_permutation: bool = option(
        "Also shuffle as many other tokens among their places, and predict these, too.",
        False,
    )
    mask_smoothing: float = option(
        "Exponent that favours rare tokens: a word is "
        "chosen with the mean of (count of a token) to the power of minus this; 0 "
        "chooses all words alike, XLM and DistilBERT have 0.7. Needs "
        "--token_counts_file.",
        0.0,
        minimum=0,
        maximum=_MOST_SMOOTHING,
    )


@dataclasses.dataclass(frozen=True)
class MaskingOptions(MaskingFlags):
    """Options of masking with the ids of a tokenizer.

    A sequence has at most `max_predictions_per_seq` predictions, and twice as many with
    `do_permutation`.

    Attributes:
        vocab_size: random replacements are drawn from all its ids.
        mask_id, cls_id, sep_id, pad_id: special ids; the last three are never masked.
        token_counts: how often each id occurs in the corpus, if not 0.
    """

    vocab_size: int
    mask_id: int
    cls_id: int
    sep_id: int
    pad_id: int
    token_counts: tuple = ()

    @classmethod
    def of(cls, tokenizer, **law):
        """Makes the options for a tokenizer's ids; `law` holds the other fields."""
        names = ("vocab_size", "mask_id", "cls_id", "sep_id", "pad_id")
        return cls(**{name: getattr(tokenizer, name) for name in names}, **law)

    @property
    def token_weights(self):
        """Weights by which ids are predicted, float32 [V]: 1 / count ** smoothing.

        An id that never occurs counts once. Source: `mlm_smoothing` of XLM and
        DistilBERT.
        """
        counts = np.maximum(np.array(self.token_counts, np.float64), 1.0)
        return (counts**-self.mask_smoothing).astype(np.float32)

    @property
    def num_predictions(self):
        """Width of the prediction arrays."""
        return self.max_predictions_per_seq * (2 if self.do_permutation else 1)


def default_max_predictions(tokens, masked_lm_prob):
    """Counts the predictions of a full sequence: 77 at 512 tokens and 15%."""
    return max(1, round(tokens * masked_lm_prob))


def write_token_counts(path, tokenizer, counts):
    """Writes how often each id of a tokenizer occurs in a corpus, as a list of int."""
    found = {_FINGERPRINT: tokenizer.fingerprint(), _COUNTS: [int(n) for n in counts]}
    write_atomically(path, json.dumps(found))


def read_token_counts(path, tokenizer):
    """Reads how often each id of `tokenizer` occurs, as a tuple of int.

    Raises:
        UserError: the file is of another vocabulary, or holds no counts.
    """
    found = read_json_object(path)
    counts = found.get(_COUNTS) or ()
    # Another choice among equally good segmentations hardly changes the counts.
    known = {tokenizer.fingerprint(), *tokenizer.earlier_fingerprints()}
    if found.get(_FINGERPRINT) not in known or len(counts) != tokenizer.vocab_size:
        raise UserError(
            f"{path} does not count the tokens of this vocabulary; make it with python "
            "-m data_pipeline.count_tokens and the same vocabulary."
        )
    return tuple(counts)
