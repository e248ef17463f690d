"""Exact nearest-neighbor search in blocks, and ranking metrics."""

import numpy as np

_QUERIES_AT_ONCE = 1024
BLOCK = 4096
"""Number of corpus vectors to compare at once."""
_RANKS = 10


def nearest(queries, blocks, k):
    """Finds the `k` vectors with the highest cosine to each query, best first.

    In a tie, the first vector wins. Only one block is in memory at a time.

    Args:
        queries: float32 `[queries, hidden]`.
        blocks: an iterable of float32 `[any, hidden]`, the corpus in parts.
        k: int; reduced to the size of a smaller corpus.

    Returns:
        Cosines, float32 `[queries, k]`, and corpus indices, int64 `[queries, k]`.
    """
    queries, begin = unit(queries), 0
    cosines = np.zeros((len(queries), 0), np.float32)
    places = np.zeros((len(queries), 0), np.int64)
    for block in blocks:
        block, found = unit(block), []
        for first in range(0, len(queries), _QUERIES_AT_ONCE):
            rows = slice(first, first + _QUERIES_AT_ONCE)
            here = np.concatenate([cosines[rows], queries[rows] @ block.T], axis=1)
            new = np.broadcast_to(
                np.arange(begin, begin + len(block)), (len(here), len(block))
            )
            where = np.concatenate([places[rows], new], axis=1)
            best = np.argsort(-here, axis=1, kind="stable")[:, :k]
            found.append([np.take_along_axis(v, best, axis=1) for v in (here, where)])
        if found:
            cosines, places = map(np.concatenate, zip(*found, strict=True))
        begin += len(block)
    return cosines, places


def unit(vectors):
    """Normalizes vectors `[…, hidden]` to length 1; 0 stays 0."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def retrieval_scores(vectors, texts):
    """Scores the retrieval of positives among all positives and negatives.

    Each distinct anchor is a query; if an anchor is also in the corpus, it does not
    retrieve itself.

    Args:
        vectors: float32 `[rows, texts, hidden]`: anchor, positive, optional negative.
        texts: int `[rows, texts]`, equal for equal texts.

    Returns:
        `{metric: float}`; see `ranking_scores`.
    """
    queries, asked = np.unique(texts[:, 0], return_index=True)
    corpus, first = np.unique(texts[:, 1:], return_index=True)
    of_corpus = vectors[:, 1:].reshape(-1, vectors.shape[-1])[first]
    blocks = (of_corpus[i : i + BLOCK] for i in range(0, len(corpus), BLOCK))
    _, places = nearest(vectors[asked, 0], blocks, _RANKS + 1)
    relevant = {query: set() for query in queries}
    for anchor, positive in texts[:, :2]:
        relevant[anchor].add(positive)
    hits = np.zeros((len(queries), _RANKS), bool)
    for row, query in enumerate(queries):
        found = [own for own in corpus[places[row]] if own != query][:_RANKS]
        hits[row, : len(found)] = [own in relevant[query] for own in found]
    return ranking_scores(hits, np.array([len(relevant[q]) for q in queries]))


def ranking_scores(hits, relevant):
    """Computes recall at 1 and 10, MRR at 10 and NDCG at 10 of rankings.

    Args:
        hits: bool `[queries, 10]`, whether the result at each rank is relevant.
        relevant: int `[queries]`, the number of relevant texts.
    """
    ranks = np.arange(1, hits.shape[1] + 1)
    gains = 1 / np.log2(ranks + 1)
    ideal = np.cumsum(gains)[np.minimum(relevant, len(ranks)) - 1]
    return {
        "ndcg_at_10": float(np.mean(hits @ gains / ideal)),
        "mrr_at_10": float(np.mean((hits / ranks).max(axis=1))),
        "recall_at_1": float(np.mean(hits[:, 0] / relevant)),
        "recall_at_10": float(np.mean(hits.sum(axis=1) / relevant)),
    }
