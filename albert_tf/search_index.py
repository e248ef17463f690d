"""`SearchIndex`: searches texts on disk by their vectors, their words, or both."""

import itertools
import os
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from albert_tf.answers import Reranked
from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io import checksums
from albert_tf.io.files import read_json_object
from albert_tf.io.text_files import read_lines
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.tasks.similarity import WAYS
from albert_tf.tasks.similarity.search import BLOCK
from albert_tf.tasks.similarity.search import check_k
from albert_tf.tasks.similarity.search import embedded
from albert_tf.tasks.similarity.search import nearest
from albert_tf.tasks.similarity.search import unit
from albert_tf.tokenization.features import list_of_texts
from albert_tf.tokenization.features import rows_of

_FACTS, _TEXTS, _VECTORS = "index.json", "texts.txt", "vectors.npy"
_GRAPH, _WORDS = "vectors.faiss", "words"
_NEIGHBOURS = 32  # of a vector in the graph
_FUSION = 60  # Cormack et al., "Reciprocal Rank Fusion" (2009)
_SAME = 1e-3  # differences of a vector by the rest of its batch


class SearchIndex:
    """An index of texts, in a folder, and the model of its vectors.

    Args:
        directory: the folder that `build` wrote.
        embedder: the `TextEmbedder` that built it.

    Attributes:
        texts: the texts, a list of str.

    Raises:
        UserError: there is no index, a file of it is missing or damaged, its extra is
            not installed, or another model built it.

    Example:
        embedder = TextEmbedder("hf://sentence-transformers/all-MiniLM-L6-v2")
        index = SearchIndex.build("index", embedder, ["a fine film", "rain"])
        index.search(["a good film"], k=1)[0][0]["text"]
    """

    def __init__(self, directory: str | os.PathLike, embedder: Any) -> None:
        folder = pathlib.Path(directory)
        if not (folder / _FACTS).exists():
            raise UserError(
                f"{folder} holds no index; build one with albert-tf search "
                "--corpus_file."
            )
        checksums.require_all(folder)
        checksums.check_folder(folder)
        facts = read_json_object(folder / _FACTS)
        self.texts, self._embedder = read_lines(folder / _TEXTS), embedder
        self._vectors = np.load(folder / _VECTORS, mmap_mode="r")
        self._check_model(folder)
        self._graph = self._words = None
        if facts["approximate"]:
            self._graph = _faiss().read_index(str(folder / _GRAPH))
        if facts["words"]:
            self._words = _bm25().BM25.load(folder / _WORDS)

    def _check_model(self, folder):
        own = unit(self._embedder.encode(self.texts[:1], prompt_type="document"))
        first = self._vectors[:1]
        if own.shape != first.shape or np.abs(own - first).max() > _SAME:
            raise UserError(
                f"{folder} was built with another model of vectors than this one; "
                "build it again, or name that model."
            )

    @classmethod
    def build(
        cls,
        directory: str | os.PathLike,
        embedder: Any,
        texts: Iterable[str],
        approximate: bool = False,
        words: bool = False,
        batch_size: int = 32,
    ) -> "SearchIndex":
        """Writes an index, and opens it.

        Args:
            directory: the folder; an index in it is replaced once the new one is whole.
            embedder: a `TextEmbedder`.
            texts: a list, array or iterator of str; each run of white space in them
                becomes a space.
            approximate: whether to search vectors by a graph (HNSW), in time that
                hardly grows with the texts, instead of exactly.
            words: whether to index words, too, for BM25.
            batch_size: texts to embed at a time.

        Raises:
            UserError: there are no texts, none has a word to index, or an extra is not
                installed.
        """
        texts = [" ".join(text.split()) for text in list_of_texts("texts", texts)]
        if not texts:
            raise UserError("An index needs texts, but there are none.")
        settings = {"batch_size": batch_size, "prompt_type": "document"}
        blocks = embedded(embedder, texts, **settings)
        vectors = np.concatenate([unit(block) for block in blocks])
        with (
            replacing(directory, lambda name, is_listed: is_listed) as new,
            ChecksummedFolder(new) as folder,
        ):
            new = pathlib.Path(new)
            np.save(new / _VECTORS, vectors)
            folder.add(_VECTORS)
            if approximate:
                _write_graph(vectors, new / _GRAPH)
                folder.add(_GRAPH)
            if words:
                _write_words(_pieces(embedder, texts), new / _WORDS)
                for path in (new / _WORDS).iterdir():
                    folder.add(f"{_WORDS}/{path.name}")
            folder.write(_TEXTS, "".join(f"{text}\n" for text in texts))
            facts = {"approximate": approximate, "words": words}
            folder.write_json(_FACTS, facts)
        return cls(directory, embedder)

    def search(
        self,
        queries: Iterable[str],
        k: int = 10,
        by: str = "vectors",
        reranker: Any = None,
        candidates: int = 50,
    ) -> list[list[Reranked]]:
        """Finds the texts that answer each query best.

        Args:
            queries: a list, array or iterator of str.
            k: the number of texts to return for a query.
            by: "vectors", "words" (BM25), or "both", whose ranks are fused.
            reranker: a `Reranker` that orders the candidates anew, or None.
            candidates: how many texts it reads for a query, and how many ranks are
                fused; at least `k`.

        Returns:
            For each query dicts of `index`, the place among `texts`, `score` and
            `text`, best first; by words, of the texts with a word of the query. Scores
            are cosines, BM25's, fused ranks, or those of the reranker.

        Raises:
            UserError: `by` is unknown, the index has no words, or k is below 1.
        """
        check_k(k)
        queries = list_of_texts("queries", queries)
        if by not in WAYS:
            raise UserError(f"by={by!r}: expected one of {', '.join(WAYS)}.")
        if by != "vectors" and self._words is None:
            raise UserError(f"by={by!r} needs an index of words; build it with words.")
        wide = reranker is not None or by == "both"
        ranks = min(max(k, candidates) if wide else k, len(self.texts))
        ways = WAYS[:2] if by == "both" else (by,)
        found = (
            [self._ranked[way](self, queries, ranks) for way in ways] if queries else []
        )
        lists = [
            fused(own) if by == "both" else own[0] for own in zip(*found, strict=True)
        ]
        if reranker is not None:
            lists = [
                self._reranked(reranker, query, own)
                for query, own in zip(queries, lists, strict=True)
            ]
        return [
            [{"index": i, "score": s, "text": self.texts[i]} for i, s in own[:k]]
            for own in lists
        ]

    def _by_vectors(self, queries, k):
        vectors = unit(self._embedder.encode(queries, prompt_type="query"))
        if self._graph is None:
            blocks = np.array_split(self._vectors, -(-len(self.texts) // BLOCK))
            scores, places = nearest(vectors, blocks, k)
        else:
            self._graph.hnsw.efSearch = max(2 * k, 64)
            scores, places = self._graph.search(vectors, k)
        return [_pairs(*row) for row in zip(places, scores, strict=True)]

    def _by_words(self, queries, k):
        pieces = _pieces(self._embedder, queries)
        rows = []
        for own in pieces:
            # BM25 of nothing is an error.
            scores = self._words.get_scores(own) if own else np.zeros(0)
            order = np.argsort(-scores, kind="stable")[:k]
            order = order[scores[order] > 0]  # the others have no word of the query
            rows.append(_pairs(order, scores[order]))
        return rows

    _ranked = {"vectors": _by_vectors, "words": _by_words}

    def _reranked(self, reranker, query, found):
        ranked = reranker.rank(query, [self.texts[place] for place, _ in found])
        return [(found[own["index"]][0], own["score"]) for own in ranked]


def _pairs(places, scores):
    return [(int(i), float(s)) for i, s in zip(places, scores, strict=True) if i >= 0]


def fused(lists):
    """Fuses rankings by reciprocal ranks: a list of (place, score), best first.

    Args:
        lists: for each ranking a list of (place, score), best first.
    """
    totals = {}
    for own in lists:
        for rank, (place, _) in enumerate(own, 1):
            totals[place] = totals.get(place, 0.0) + 1 / (_FUSION + rank)
    return sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))


def _write_graph(vectors, path):
    faiss = _faiss()
    graph = faiss.IndexHNSWFlat(
        vectors.shape[1], _NEIGHBOURS, faiss.METRIC_INNER_PRODUCT
    )
    graph.add(vectors)
    faiss.write_index(graph, str(path))


def _write_words(pieces, folder):
    """Writes BM25's scores of lists of pieces, numbered in the pieces' order."""
    vocabulary = sorted({*itertools.chain(*pieces)})
    if not vocabulary:
        raise UserError("An index of words needs texts with words, but all are empty.")
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    found = _bm25().BM25()
    ids = [[numbers[piece] for piece in own] for own in pieces]
    found.index((ids, numbers), show_progress=False)
    found.save(folder)


def _pieces(embedder, texts):
    """Splits texts into the pieces of the model's tokenizer, whatever the language."""
    return [[*map(str, ids)] for ids in rows_of(*embedder.tokenizer.encode_flat(texts))]


def _faiss():
    with of_extra("search", "An approximate index needs faiss"):
        import faiss
    return faiss


def _bm25():
    with of_extra("search", "Search by words needs bm25s"):
        import bm25s
    return bm25s
