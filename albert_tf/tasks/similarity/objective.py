"""Objective of training vectors of texts."""

import numpy as np
import tensorflow as tf

from albert_tf.objectives.texts import TextObjective
from albert_tf.objectives.texts import TextTerm

_NEVER = -1e9  # the logit of a text that is no negative


def info_nce(vectors, texts, temperature, symmetric=False):
    """Computes the cross-entropy of each anchor's positive among all other texts.

    Negatives are the positives and negatives of all rows, but for texts that equal the
    anchor or its positive, and for positives of an equal anchor. Source: van den Oord
    et al. (2018), section 2.3; Henderson et al. (2017), section 4.4.

    Args:
        vectors: float32 `[batch, texts, hidden]`.
        texts: int32 `[batch, texts]`, equal for equal texts.
        temperature: the number by which cosines are divided.
        symmetric: whether each positive is to find its anchor, too; the loss is the
            mean of both ways.

    Returns:
        The losses, float32 `[batch]`, and float32 `[batch]`, 1 where the positive is
        closer than each negative.
    """
    unit, rows = tf.math.l2_normalize(vectors, axis=-1), tf.shape(vectors)[0]
    # The positives of all rows, then the negatives.
    candidates = tf.concat(tf.unstack(unit[:, 1:], axis=1), axis=0)  # [K, H]
    numbers = tf.concat(tf.unstack(texts[:, 1:], axis=1), axis=0)  # [K]
    logits = tf.matmul(unit[:, 0], candidates, transpose_b=True) / temperature
    anchor, positive = texts[:, :1], texts[:, 1:2]  # [B, 1]
    equal = (numbers == anchor) | (numbers == positive)  # [B, K]
    of_equal_anchor = anchor == tf.transpose(anchor)  # [B, B]
    negatives = tf.shape(numbers)[0] - rows
    equal |= tf.pad(of_equal_anchor, [[0, 0], [0, negatives]])
    own = tf.eye(rows, rows + negatives, dtype=tf.bool)
    logits = tf.where(equal & ~own, _NEVER, logits)
    places = tf.range(rows)
    losses = _cross_entropy(places, logits)
    hits = tf.argmax(logits, axis=1, output_type=tf.int32) == places
    if symmetric:
        losses += _cross_entropy(places, tf.transpose(logits[:, :rows]))
        losses /= 2.0
    return losses, tf.cast(hits, tf.float32)


def cosent(vectors, scores, temperature):
    """Computes CoSENT: pairs of a higher score should have higher cosines.

    `log(1 + sum exp((cos_i - cos_j) / temperature))` over the rows i and j where j has
    the higher score. Source: Su, "CoSENT" (2022).

    Args:
        vectors: float32 `[batch, 2, hidden]`.
        scores: float32 `[batch]`.
        temperature: float.

    Returns:
        Float32 `[batch]`, the loss of the batch for each of its rows.
    """
    cosines = cosine_of_pairs(vectors)
    differences = (cosines[:, None] - cosines[None, :]) / temperature
    is_wrong = scores[:, None] < scores[None, :]
    exponents = tf.where(is_wrong, differences, _NEVER)
    exponents = tf.concat([[0.0], tf.reshape(exponents, [-1])], axis=0)
    return tf.fill(tf.shape(scores), tf.reduce_logsumexp(exponents))


def cosine(vectors, scores):
    """Computes the squared difference of cosine and score, float32 `[batch]`.

    Args:
        vectors: float32 `[batch, 2, hidden]`.
        scores: float32 `[batch]`.
    """
    return tf.square(cosine_of_pairs(vectors) - scores)


def vectors_of_width(vectors, width):
    """Changes the width of vectors, and their cosines as little as possible.

    Wider vectors are projected to their principal axes about 0; narrower ones are
    padded with 0.

    Args:
        vectors: float32 array `[..., hidden]`.
        width: int.

    Returns:
        float32 `[..., width]`.
    """
    missing = width - vectors.shape[-1]
    if missing >= 0:
        return np.pad(vectors, [*[(0, 0)] * (vectors.ndim - 1), (0, missing)])
    rows = np.float64(vectors.reshape(-1, vectors.shape[-1]))
    _, axes = np.linalg.eigh(rows.T @ rows)  # ascending
    return (vectors @ axes[:, : -width - 1 : -1]).astype(np.float32)


def cosine_of_pairs(vectors):
    """Computes the cosine of the first two texts of each row, float32 `[batch]`."""
    unit = tf.math.l2_normalize(vectors, axis=-1)
    return tf.reduce_sum(unit[:, 0] * unit[:, 1], axis=-1)


def _cross_entropy(places, logits):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=places, logits=logits)


class SimilarityTerm(TextTerm):
    """The loss of a `Similarity` task over the rows of a whole batch."""

    name = "similarity"

    def weights(self, batch):
        return tf.ones(tf.shape(batch["labels"])[:1])


class SimilarityObjective(TextObjective):
    """One term on the vectors of all rows of a global batch, of a `Similarity`."""

    compares_rows = True
    term_class = SimilarityTerm

    def outputs(self, model, batch, training, dropout_seed):
        self._task.check_model(model.config)
        return super().outputs(model, batch, training, dropout_seed)
