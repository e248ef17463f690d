"""Distances between the outputs of a student and of its teacher."""

import tensorflow as tf


def softmax_distances(logits, teacher, temperature):
    """Computes the divergence of two distributions over the last axis, softened.

    `T² KL(softmax(teacher / T) || softmax(logits / T))` (Hinton et al., arXiv
    1503.02531, section 2); the factor keeps gradients of one size whatever T is.

    Args:
        logits, teacher: float32 `[…, classes]`.
        temperature: T.

    Returns:
        float32 `[…]`.
    """
    own = tf.nn.log_softmax(logits / temperature)
    target = tf.nn.log_softmax(teacher / temperature)
    return temperature**2 * tf.reduce_sum(tf.exp(target) * (target - own), axis=-1)


def sigmoid_distances(logits, teacher, temperature):
    """Computes `softmax_distances` of yes and no of each logit: float32 `[…]`."""

    def both(values):
        return tf.stack([values, tf.zeros_like(values)], axis=-1)

    return softmax_distances(both(logits), both(teacher), temperature)
