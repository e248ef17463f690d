"""The nearest vectors, and scores of retrieval."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.similarity import search

_RANDOM = np.random.default_rng(0)


def test_nearest_is_exact_in_any_blocks(monkeypatch):
    queries = _RANDOM.normal(size=(5, 6)).astype(np.float32)
    corpus = _RANDOM.normal(size=(40, 6)).astype(np.float32)
    corpus[30] = 2 * corpus[3]  # the same direction: the first one counts more
    queries[0] = corpus[3]
    cosines = search.unit(queries) @ search.unit(corpus).T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :7]
    assert order[0, :2].tolist() == [3, 30]
    monkeypatch.setattr(search, "_QUERIES_AT_ONCE", 2)
    for size in (40, 7):
        blocks = [corpus[i : i + size] for i in range(0, 40, size)]
        found, places = search.nearest(queries, blocks, 7)
        np.testing.assert_allclose(found, np.take_along_axis(cosines, order, 1), 1e-5)
        np.testing.assert_array_equal(places, order)
    assert search.nearest(queries, [corpus[:3]], 7)[1].shape == (5, 3)
    with pytest.raises(UserError, match="k=0: expected at least 1"):
        search.check_k(0)


@pytest.mark.parametrize(("others", "recall"), [(10, 1), (11, 11 / 12)])
def test_a_query_in_the_corpus_takes_no_rank(others, recall):
    """The farthest of the other texts answers text 0."""
    texts = [[0, others], *([others + 1 + n, n] for n in range(others))]
    angles = np.append(np.arange(others + 1), np.arange(others)) / 10
    own = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    scores = search.retrieval_scores(own[texts], np.array(texts))
    assert scores["recall_at_10"] == pytest.approx(recall)


def test_retrieval_of_equal_texts():
    # Text 0 asks twice; 1 and 2 answer it, and 3 is what 4 asks for. Text 4 is in the
    # corpus as a negative, and does not find itself.
    texts = np.array([[0, 1, 4], [0, 2, 4], [4, 3, 1]])
    own = {0: [1, 0, 0], 1: [1, 0.1, 0], 2: [0, 1, 0], 3: [0, 0.4, 1], 4: [0.7, 0, 1]}
    vectors = np.array([[own[text] for text in row] for row in texts], np.float32)
    scores = search.retrieval_scores(vectors, texts)
    # Of 0: 1, 4, then 2 before 3, whose cosines are 0; of 4: 3 and then others.
    assert scores["recall_at_1"] == pytest.approx((1 / 2 + 1) / 2)
    assert scores["mrr_at_10"] == 1
    ideal = 1 + 1 / np.log2(3)
    expected = ((1 + 1 / 2) / ideal + 1) / 2
    assert scores["ndcg_at_10"] == pytest.approx(expected)
