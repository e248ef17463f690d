"""Seeds derived from names, so that nothing depends on the order of work."""

import hashlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def derive_seed(*names: object) -> list[int]:
    """Returns two non-negative 31-bit ints that depend on all of `names`."""
    digest = hashlib.blake2b(repr(names).encode(), digest_size=8).digest()
    first, second = digest[:4], digest[4:]
    return [int.from_bytes(half, "little") & 0x7FFFFFFF for half in (first, second)]


def derive_fraction(*names: object) -> float:
    """Returns a float in [0, 1) that depends on all of `names`."""
    return derive_seed(*names)[0] / 2**31


def batch_seed(seed: Sequence[int], number: Any) -> tf.Tensor:
    """Returns the stateless seed, int64 `[2]`, of batch `number`, from two ints."""
    first, second = seed
    return tf.stack([tf.cast(first, tf.int64), tf.cast(second, tf.int64) ^ number])
