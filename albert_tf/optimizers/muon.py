"""Muon: orthogonalised momentum for the matrices of the blocks, AdamW for the rest."""

import math
import re

import keras
from keras import ops

from albert_tf.optimizers.adam import AdamW

# The reference implementation's coefficients of the quintic iteration.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_SMALL = 1e-7
_IN_A_BLOCK = re.compile(r"(^|/)(attention|feed_forward)_\d+_\d+/")


@keras.saving.register_keras_serializable(package="albert_tf")
class Muon(AdamW):
    """Muon (Jordan et al., 2024, kellerjordan.github.io/posts/muon).

    The kernels of attention and feed-forward layers step along their momentum, after
    Newton-Schulz iterations bring all its singular values near 1, times
    `sqrt(max(1, outputs / inputs))`. A kernel of more than two dimensions counts as a
    matrix of its first dimension by the others. Embeddings, their mapping, the pooler,
    heads, biases and normalizations follow AdamW with bias correction, at
    `adam_lr_ratio` times the rate. Decay applies to both, except for the variables that
    all optimizers here exclude.

    Keras' Muon, whose argument names are used here, updates its variables in place; the
    training step needs a function of their values.

    Args:
        learning_rate: the matrices' rate; a float or a schedule.
        momentum: rate of the gradients' average.
        nesterov: whether the step looks ahead by one gradient.
        ns_steps: Newton-Schulz iterations.
        adam_lr_ratio: the rate of AdamW's variables divided by the matrices' rate.
        **kwargs: arguments of `AdamW`, for the other variables.
    """

    moment_names = ("momentums", *AdamW.moment_names)
    own_arguments = (
        *AdamW.own_arguments,
        *("momentum", "nesterov", "ns_steps", "adam_lr_ratio"),
    )

    def __init__(
        self,
        learning_rate=0.01,
        momentum=0.95,
        nesterov=True,
        ns_steps=5,
        adam_lr_ratio=0.1,
        bias_correction=True,
        **kwargs,
    ):
        super().__init__(learning_rate, bias_correction=bias_correction, **kwargs)
        self.momentum = momentum
        self.nesterov = nesterov
        self.ns_steps = ns_steps
        self.adam_lr_ratio = adam_lr_ratio

    def build(self, variables):
        if not self.built:
            self.is_matrix = [_is_matrix_of_a_block(v) for v in variables]
        super().build(variables)

    def moments_of(self, index):
        return ("momentums",) if self.is_matrix[index] else AdamW.moment_names

    def rules_table(self, variables):
        matrices = [v for v in variables if _is_matrix_of_a_block(v)]
        parameters = sum(math.prod(v.shape) for v in matrices)
        return [
            *super().rules_table(variables),
            f"{len(matrices):5} {'orthogonalised':15}{parameters:>14,} parameters  "
            f"matrices of the blocks; the rest by AdamW at {self.adam_lr_ratio:g} "
            "times the rate",
        ]

    def rate_factor(self, variable):
        ratio = 1.0 if _is_matrix_of_a_block(variable) else self.adam_lr_ratio
        return super().rate_factor(variable) * ratio

    def direction(self, index, gradient, moments, step):
        if not self.is_matrix[index]:
            return super().direction(index, gradient, moments, step)
        average = moments["momentums"]
        average += (1.0 - self.momentum) * (gradient - average)
        ahead = average
        if self.nesterov:
            ahead = gradient + self.momentum * (average - gradient)
        inputs = ahead.shape[0]
        matrix = ops.reshape(ahead, (inputs, -1))
        scale = math.sqrt(max(1.0, matrix.shape[1] / inputs))
        update = scale * orthogonalised(matrix, self.ns_steps)
        return ops.reshape(update, ahead.shape), {"momentums": average}


def orthogonalised(matrix, steps):
    """Brings the singular values of a matrix `[rows, columns]` near 1.

    It runs `steps` iterations of `a X + b (X X') X + c (X X')^2 X`, on the side of the
    smaller dimension, from `X = matrix / norm`. After 5 steps, singular values lie
    between 0.68 and 1.13, unless they were below a hundredth of the norm.
    """
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = ops.transpose(matrix) if is_tall else matrix
    x /= ops.norm(x) + _SMALL
    for _ in range(steps):
        squared = ops.matmul(x, ops.transpose(x))
        x = _A * x + ops.matmul(_B * squared + _C * ops.matmul(squared, squared), x)
    return ops.transpose(x) if is_tall else x


def _is_matrix_of_a_block(variable):
    is_kernel = variable.path.endswith("kernel") and len(variable.shape) > 1
    return is_kernel and _IN_A_BLOCK.search(variable.path) is not None
