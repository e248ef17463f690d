"""Steps of an optimizer on gradients that were drawn."""

import numpy as np
import tensorflow as tf


def drawn_gradients(variables, steps):
    random = np.random.default_rng(1)
    return [random.normal(size=(steps, *v.shape)) for v in variables]


def take_steps(optimizer, gradients, variables):
    for of_step in zip(*gradients, strict=True):
        optimizer.apply([tf.constant(g, tf.float32) for g in of_step], variables)
