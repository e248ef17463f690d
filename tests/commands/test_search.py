"""albert-tf search: an index on disk, by vectors and words, fused and reranked."""

import json

import numpy as np
import pytest

from albert_tf import SearchIndex
from albert_tf import TextEmbedder
from albert_tf.commands import search
from albert_tf.errors import UserError
from albert_tf.search_index import fused

TEXTS = ["a film", "the plot was bad", "it is a very good film", "not one", "the film"]


class Longest:
    """Stands for a `Reranker` that likes long texts."""

    def rank(self, query, texts):
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
    (found,) = index.search(["plot"], k=2, by="words")
    assert found[0]["text"] == "the plot was bad"
    assert found[0]["score"] > found[1]["score"] == 0
    (vectors,), (words,) = (
        index.search(["bad plot"], k=5, by=by) for by in ("vectors", "words")
    )
    ranks = [
        [(own["index"], own["score"]) for own in results]
        for results in (vectors, words)
    ]
    (both,) = index.search(["bad plot"], k=5, by="both")
    assert [(own["index"], own["score"]) for own in both] == fused(ranks)


def test_fused_ranks():
    found = fused([[(3, 0.9), (1, 0.8)], [(1, 7.0), (2, 5.0)]])
    assert [place for place, _ in found] == [1, 3, 2]
    assert found[0][1] == pytest.approx(1 / 62 + 1 / 61)


def test_candidates_are_ordered_anew(index):
    (found,) = index.search(["film"], k=2, reranker=Longest(), candidates=5)
    assert [own["text"] for own in found] == [TEXTS[2], TEXTS[1]]
    assert found[0]["score"] == len(TEXTS[2])


def test_a_graph_finds_the_nearest(embedder, index, tmp_path):
    pytest.importorskip("faiss")
    graph = SearchIndex.build(tmp_path, embedder, TEXTS, approximate=True)
    ((expected,),) = index.search(["a good film"], k=1)
    for own in (graph, SearchIndex(tmp_path, embedder)):
        ((found,),) = own.search(["a good film"], k=1)
        assert found["index"] == expected["index"]
        assert found["score"] == pytest.approx(expected["score"], abs=1e-5)
    # An index of another kind leaves none of the old one's files.
    SearchIndex.build(tmp_path, embedder, TEXTS)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"SHA256SUMS", "index.json", "texts.txt", "vectors.npy"}


def test_what_does_not_fit_is_refused(index, embedder, saved_model, tmp_path):
    for call, message in (
        (lambda: SearchIndex(tmp_path, embedder), "holds no index; build one"),
        (lambda: SearchIndex.build(tmp_path, embedder, []), "needs texts, but there"),
        (lambda: index.search(["a"], by="letters"), "expected one of vectors, words"),
    ):
        with pytest.raises(UserError, match=message):
            call()
    plain = SearchIndex.build(tmp_path, embedder, TEXTS)
    with pytest.raises(UserError, match="needs an index of words"):
        plain.search(["a"], by="both")
    other = TextEmbedder(saved_model("encoder"))
    with pytest.raises(UserError, match="was built with another model"):
        SearchIndex(tmp_path, other)


@pytest.mark.slow
def test_the_command_builds_and_searches(saved_model, tmp_path, capsys):
    corpus = tmp_path / "texts.txt"
    corpus.write_text("".join(f"{text}\n\n" for text in TEXTS))
    places = {"index_dir": str(tmp_path / "index")}
    places["model_dir"] = str(saved_model("similarity"))
    search.search(search.SearchOptions(corpus_file=str(corpus), words=True, **places))
    assert (tmp_path / "index" / "texts.txt").read_text().splitlines() == TEXTS
    asked = {"query": "plot", "by": "words", "k": 1}
    search.search(search.SearchOptions(**asked, **places))
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["query"] == "plot"
    assert [own["text"] for own in found["results"]] == ["the plot was bad"]
    with pytest.raises(UserError, match="Give one of --corpus_file, --query and"):
        search.search(search.SearchOptions(**places))
