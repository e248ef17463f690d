"""Disentangled attention: scores of contents for distances, and of distances.

DeBERTa (He et al., arXiv 2006.03654) adds to the score of two tokens what the query
gives to the vector of their distance, and what that vector gives to the key. Far
distances share vectors (arXiv 2111.09543).
"""

import keras
import numpy as np
from keras import ops

from albert_tf.layers.base import ConfiguredLayer


@keras.saving.register_keras_serializable(package="albert_tf")
class RelativePositions(ConfiguredLayer):
    """The vectors of distances, which all blocks share, and their norm."""

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = self._block_norm("layer_norm")

    def build(self, input_shape=None):
        width = self.config.hidden_size
        self.embeddings = self._weight("embeddings", (self.config.distances, width))
        self.layer_norm.build((None, width))

    def vectors(self):
        """Computes the normalised vectors, `[distances, hidden]`."""
        return self.layer_norm(self.embeddings)


def rows_of_distances(config, tokens):
    """Returns the vector's row for each query and key, int32 `[1, tokens, tokens]`.

    Args:
        config: an `AlbertConfig` with disentangled positions.
        tokens: an int or int32 scalar.
    """
    most = config.max_position_embeddings
    places = ops.arange(tokens, dtype="int32")
    distances = ops.expand_dims(places, 1) - ops.expand_dims(places, 0)
    rows = ops.convert_to_tensor(_table(most, config.position_buckets))
    return ops.expand_dims(ops.take(rows, distances + most - 1, axis=0), 0)


def _table(most, buckets):
    """Returns the row of each distance from `1 - most` to `most - 1`, int32.

    The first half of the buckets on each side are single distances, the others grow
    logarithmically. Source: `make_log_bucket_position` of transformers, in float32.
    """
    distances = np.arange(1 - most, most)
    half = buckets or most
    if buckets:
        middle = buckets // 2
        far = np.maximum(np.abs(distances), middle).astype(np.float32) / middle
        logarithms = np.log(far) / np.log(
            np.float32(max(most - 1, middle + 1) / middle)
        )
        buckets_of_far = np.ceil(logarithms * (middle - 1)) + middle
        is_near = np.abs(distances) <= middle
        distances = np.where(is_near, distances, np.sign(distances) * buckets_of_far)
    return np.minimum(distances + half, 2 * half - 1).astype(np.int32)


def scores_of_distances(query, key, query_of, key_of, rows):
    """Computes what distances add to scores, `[batch, heads, queries, keys]`.

    Args:
        query, key: of the tokens, `[batch, tokens, heads, head size]`.
        query_of, key_of: of the distances, `[distances, heads, head size]`.
        rows: the `rows_of_distances`, `[batch or 1, queries, keys]`.
    """
    of_queries = ops.einsum("bqnd,rnd->bnqr", query, key_of)
    of_keys = ops.einsum("bknd,rnd->bnkr", key, query_of)
    return _looked_up(of_queries, rows, axis=2) + _looked_up(of_keys, rows, axis=3)


def _looked_up(scores, rows, axis):
    """Looks up `[batch, heads, tokens, distances]`, whose tokens lie on an axis of the
    result, by flat numbers: their gradient is one scatter.
    """
    batch, heads, tokens, count = ops.shape(scores)
    rows_of_scores = batch * heads * tokens
    # Without a known size that fits, the numbers of a large batch would wrap around.
    is_small = isinstance(rows_of_scores, int) and rows_of_scores * count < 2**31
    dtype = "int32" if is_small else "int64"
    starts = ops.cast(ops.arange(rows_of_scores, dtype="int32"), dtype) * count
    shape = [batch, heads, 1, 1]
    shape[axis] = tokens
    places = ops.reshape(starts, shape) + ops.cast(ops.expand_dims(rows, 1), dtype)
    return ops.take(ops.reshape(scores, (-1,)), places, axis=0)
