"""The terms of distances in scores."""

import pytest
import tensorflow as tf

from albert_tf.layers.relative_positions import scores_of_distances


@pytest.mark.parametrize(
    ("batch", "dtype"), [(682, tf.int32), (683, tf.int64), (None, tf.int64)]
)
def test_numbers_of_a_large_batch_do_not_wrap_around(batch, dtype):
    """683 x 12 x 512 rows of 512 distances are more than int32 can number."""
    tokens = tf.TensorSpec((batch, 512, 12, 1), tf.float32)
    distances = tf.TensorSpec((512, 12, 1), tf.float32)
    rows = tf.TensorSpec((1, 512, 512), tf.int32)
    signature = [tokens, tokens, distances, distances, rows]
    graph = tf.function(scores_of_distances, signature).get_concrete_function().graph
    looked_up = [op for op in graph.get_operations() if op.type == "GatherV2"]
    assert [op.get_attr("Tindices") for op in looked_up] == [dtype] * 2
