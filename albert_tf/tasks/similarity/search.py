"""Exact nearest-neighbor search in blocks, and its scores."""

import numpy as np

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.tasks.ranking.metrics import ndcg_and_mrr

_QUERIES_AT_ONCE = 1024
BLOCK = 4096
"""Number of texts to embed, and of corpus vectors to compare, at once."""
_RANKS = 10


def check_k(k):
    """Refuses a number of results below 1."""
    if k < 1:
        raise UserError(f"k={k}: expected at least 1.")


def embedded(embedder, texts, text_pairs=None, **settings):
    """Embeds texts in blocks, with a progress bar.

    Args:
        embedder: a `TextEmbedder`.
        texts, text_pairs, **settings: what its `encode` takes; lists of str.

    Yields:
        The vectors of each block, float32 `[block, hidden]`.
    """
    with Progress(len(texts), "texts", "embedding") as progress:
        for begin in range(0, len(texts), BLOCK):
            some = slice(begin, begin + BLOCK)
            second = text_pairs and text_pairs[some]
            yield embedder.encode(texts[some], second, **settings)
            progress.update(min(some.stop, len(texts)))


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
        `{metric: float}`: NDCG and MRR at 10, and the share of an anchor's positives
        among the first 1 and 10.
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
    counts = np.array([[len(relevant[query])] for query in queries])
    scores = ndcg_and_mrr(hits, np.arange(_RANKS) < counts)
    for ranks in (1, _RANKS):
        recalls = hits[:, :ranks].sum(axis=1, keepdims=True) / counts
        scores[f"recall_at_{ranks}"] = float(np.mean(recalls))
    return scores
