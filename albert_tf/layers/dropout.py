"""Dropout as a pure function of a seed, so that a block can be computed twice."""

import keras
from keras import ops

# Each dropout of a model is a site: block k has the sites 4k to 4k+3.
SITES_PER_BLOCK = 4
EMBEDDING_SITE = -1
CLASSIFIER_SITE = -2
POSITION_SITE = -3
OUTPUT_SITE = -4

# Odd and far apart modulo 2**32: seeds that differ by a small number, such as a
# step counter, never share a mask between different sites.
_STRIDES = (-1640531535, -2048144777)


def fold_seed(seed, site):
    """Derives a seed int32 [2] for `site` (an int or int32 scalar) from `seed`.

    Folding is additive: site a of the folded seed b is site a + b.
    """
    seed = ops.cast(seed, "int32")
    return seed + ops.cast(site, "int32") * ops.convert_to_tensor(_STRIDES, "int32")


def dropout(inputs, rate, seed, site):
    """Zeroes a fraction `rate` and scales up the rest; `seed` None is inference."""
    if seed is None or rate == 0:
        return inputs
    return keras.random.dropout(inputs, rate, seed=_FixedSeed(fold_seed(seed, site)))


class _FixedSeed(keras.random.SeedGenerator):
    """Hands `keras.random` a seed tensor instead of the state of a variable."""

    def __init__(self, seed):
        # The parent's constructor would create a variable for every call.
        dtype = "uint32" if keras.backend.backend() == "jax" else "int32"
        self._seed = ops.cast(seed, dtype)

    def next(self, ordered=True):
        return self._seed
