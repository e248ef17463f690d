"""The law of the mask, and how many predictions it needs."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class MaskingOptions:
    """The law of the mask.

    Attributes:
        vocab_size: random replacements are drawn from all its ids.
        mask_id, cls_id, sep_id, pad_id: special ids; the last three are never masked.
        max_predictions_per_seq: predictions P of a sequence at most.
        masked_lm_prob: share of a sequence's tokens to predict.
        ngram: longest span, in words.
        favor_shorter_ngram: p(n) proportional to 1/n; False reverses it.
        do_whole_word_mask: False makes every token a word of its own.
        do_permutation: as many tokens again change places among themselves and
            are predicted too; there are then 2P predictions.
        mask_smoothing: 0, or the power of `token_weights`.
        token_counts: how often each id occurs in the corpus, if not 0.
    """

    vocab_size: int
    mask_id: int
    cls_id: int
    sep_id: int
    pad_id: int
    max_predictions_per_seq: int
    masked_lm_prob: float = 0.15
    ngram: int = 3
    favor_shorter_ngram: bool = True
    do_whole_word_mask: bool = True
    do_permutation: bool = False
    mask_smoothing: float = 0.0
    token_counts: tuple = ()

    @property
    def token_weights(self):
        """How gladly each id is predicted, float32 [V]: 1 / count ** smoothing.

        What never occurs counts once. Source: `mlm_smoothing` of XLM and DistilBERT.
        """
        counts = np.maximum(np.array(self.token_counts, np.float64), 1.0)
        return (counts**-self.mask_smoothing).astype(np.float32)

    @property
    def num_predictions(self):
        """Width of the prediction arrays."""
        return self.max_predictions_per_seq * (2 if self.do_permutation else 1)


def default_max_predictions(max_seq_length, masked_lm_prob):
    """Predictions that a full sequence needs: 77 at 512 tokens and 15%."""
    return max(1, round(max_seq_length * masked_lm_prob))
