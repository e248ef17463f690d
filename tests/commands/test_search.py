"""albert-tf search: an index on disk, by vectors and words, fused and reranked."""

import json

import numpy as np
import pytest

from albert_tf import SearchIndex
from albert_tf import TextEmbedder
from albert_tf.commands import search
from albert_tf.errors import UserError
from albert_tf.search_index import _pairs
from albert_tf.search_index import fused

TEXTS = ["a film", "the plot was bad", "it is a very good film", "not one", "the film"]


class Longest:
    """Stands for a `Reranker` that likes long texts."""

    def __init__(self):
        self.read = []  # how many texts of each query

    def rank(self, query, texts):
        self.read.append(len(texts))
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        return [{"index": i, "score": float(len(texts[i]))} for i in order]


@pytest.fixture(scope="module")
def embedder(saved_model):
    return TextEmbedder(saved_model("similarity"))


@pytest.fixture(scope="module")
def index(embedder, tmp_path_factory):
    pytest.importorskip("bm25s")
    folder = tmp_path_factory.mktemp("index")
    return SearchIndex.build(folder, embedder, iter(TEXTS), words=True)


def test_vectors_are_searched_exactly(index, embedder):
    query = "a good film"
    expected = embedder.search(query, TEXTS, k=3)
    (found,) = index.search([query], k=3)
    assert [own["index"] for own in found] == [own["index"] for own in expected]
    assert [own["text"] for own in found] == [TEXTS[own["index"]] for own in expected]
    cosines = [own["similarity"] for own in expected]
    np.testing.assert_allclose([own["score"] for own in found], cosines, atol=1e-5)
    assert index.search([]) == []


def test_words_and_both(index):
    # Texts without a word of the query are no results, and have no rank to fuse.
    found, *others = index.search(["plot", "", "  ", "so"], k=2, by="words")
    assert [own["text"] for own in found] == ["the plot was bad"]
    assert found[0]["score"] > 0
    assert others == [[], [], []]
    (both,) = index.search(["plot"], k=5, by="both")
    (vectors,) = index.search(["plot"], k=5)
    ranks = [own["index"] for own in vectors].index
    shares = {own["index"]: own["score"] for own in both}
    assert [*shares] == sorted(shares, key=shares.get, reverse=True)
    assert shares.pop(1) == pytest.approx(1 / 61 + 1 / (61 + ranks(1)))
    assert shares == {i: pytest.approx(1 / (61 + ranks(i))) for i in shares}


def test_candidates_are_ordered_anew(index):
    (found,) = index.search(["film"], k=2, reranker=Longest(), candidates=5)
    assert [own["text"] for own in found] == [TEXTS[2], TEXTS[1]]
    assert found[0]["score"] == len(TEXTS[2])
    # It reads the nearest candidates, and no fewer than are wanted.
    for k, candidates, read in ((1, 2, 2), (3, 2, 3), (9, 9, 5)):
        reranker = Longest()
        (found,) = index.search(["plot"], k, "vectors", reranker, candidates)
        assert (len(found), reranker.read) == (min(k, read), [read])


def test_ranks_are_fused():
    ranks = [[(3, 0.9), (1, 0.5)], [(1, 7.0), (2, 6.0)], [(4, 0.0)]]
    expected = [(1, 1 / 61 + 1 / 62), (3, 1 / 61), (4, 1 / 61), (2, 1 / 62)]
    assert fused(ranks) == expected
    # A graph says -1 where it finds no more.
    found = _pairs(np.array([3, 0, -1]), np.array([0.5, 0.25, 0.0]))
    assert found == [(3, 0.5), (0, 0.25)]


def test_a_graph_finds_the_nearest(embedder, index, tmp_path):
    pytest.importorskip("faiss")
    graph = SearchIndex.build(tmp_path, embedder, TEXTS, approximate=True)
    ((expected,),) = index.search(["a good film"], k=1)
    for own in (graph, SearchIndex(tmp_path, embedder)):
        ((found,),) = own.search(["a good film"], k=1)
        assert found["index"] == expected["index"]
        assert found["score"] == pytest.approx(expected["score"], abs=1e-5)


def test_an_index_of_another_kind_leaves_none_of_the_old_ones_files(embedder, tmp_path):
    pytest.importorskip("bm25s")
    pytest.importorskip("faiss")
    SearchIndex.build(tmp_path, embedder, TEXTS, words=True, approximate=True)
    # Pieces of words are numbered in order, so that the same texts give the same files
    # in each process.
    numbers = json.loads((tmp_path / "words" / "vocab.index.json").read_text())
    del numbers[""]
    assert [*numbers] == sorted(numbers)
    assert [*numbers.values()] == [*range(len(numbers))]
    with pytest.raises(UserError, match="needs texts with words, but all are empty"):
        SearchIndex.build(tmp_path, embedder, ["", " "], words=True)
    SearchIndex.build(tmp_path, embedder, TEXTS)
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"SHA256SUMS", "index.json", "texts.txt", "vectors.npy"}


def test_what_does_not_fit_is_refused(index, embedder, saved_model, tmp_path):
    def build(texts):
        return SearchIndex.build(tmp_path, embedder, texts)

    def command(**settings):
        search.search(search.SearchOptions(index_dir="i", model_dir="m", **settings))

    other = TextEmbedder(saved_model("encoder"))
    for call, message in (
        (lambda: SearchIndex(tmp_path, embedder), "holds no index; build one"),
        (lambda: build([]), "needs texts, but there"),
        (lambda: index.search(["a"], by="letters"), "expected one of vectors, words"),
        (lambda: index.search(["a"], k=-1), "k=-1: expected at least 1"),
        (lambda: build(TEXTS).search(["a"], by="both"), "needs an index of words"),
        (lambda: SearchIndex(tmp_path, other), "was built with another model"),
        (lambda: command(query="a", words=True), "where an index is searched; l"),
        (lambda: command(corpus_file="a", k=3), "--k has .* an index is built"),
    ):
        with pytest.raises(UserError, match=message):
            call()


@pytest.mark.slow
def test_the_command_builds_and_searches(saved_model, tmp_path, capsys):
    corpus, queries, folder = (tmp_path / name for name in ("a.txt", "b.txt", "index"))
    corpus.write_text("".join(f"{text}\n\n" for text in TEXTS))
    queries.write_text("plot\n\n \nfilm\n")

    def found(**settings):
        places = {"index_dir": str(folder), "model_dir": str(saved_model("similarity"))}
        search.search(search.SearchOptions(**places, **settings))
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    found(corpus_file=str(corpus), words=True)
    assert (folder / "texts.txt").read_text().splitlines() == TEXTS
    (answer,) = found(query="plot", by="words", k=1)
    assert answer["query"] == "plot"
    assert [own["text"] for own in answer["results"]] == ["the plot was bad"]
    several = found(query_file=str(queries), by="words", k=1)
    assert [answer["query"] for answer in several] == ["plot", "film"]
