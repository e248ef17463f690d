"""Embeddings are the normalized sum of the rows of three tables."""

import numpy as np

from albert_tf.layers.embeddings import Embeddings


def normalized(rows):
    rows = rows - rows.mean(-1, keepdims=True)
    return rows / np.sqrt((rows**2).mean(-1, keepdims=True))


def test_words_segments_and_positions_add_up(tiny_config):
    layer = Embeddings(tiny_config())
    layer.build()
    words, segments, positions = (
        np.array(table)
        for table in (
            layer.word_embeddings,
            layer.token_type_embeddings,
            layer.position_embeddings,
        )
    )
    ids = np.array([[5, 5, 9, 0], [36, 1, 1, 2]], "int32")
    kinds = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], "int32")
    expected = words[ids] + segments[kinds] + positions[:4]
    np.testing.assert_allclose(layer(ids, kinds), normalized(expected), atol=1e-4)
    # Of packed rows, positions start again with each pair.
    places = np.array([[0, 1, 0, 1], [0, 0, 1, 2]], "int32")
    expected = words[ids] + segments[kinds] + positions[places]
    found = layer(ids, kinds, positions=places)
    np.testing.assert_allclose(found, normalized(expected), atol=1e-4)
