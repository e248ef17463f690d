"""Vectors of texts in Python: the public class."""

import json
import pickle

import numpy as np
import pytest

import albert_tf
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.base import seeded
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.tasks.similarity import search
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

_WORDS = ["sun", "moon", "star", "the", "a", "is", "big", "it", "."]
_TEXTS = ["the sun is big .", "moon", "a star is a star is a star", "it is the sun"]


@pytest.fixture(scope="module")
def directory(tiny_config, vocabulary, tmp_path_factory):
    """A pretrained encoder of 16 positions."""
    path = tmp_path_factory.mktemp("encoder")
    config = tiny_config(vocab_size=5 + len(_WORDS), num_hidden_layers=2)
    with seeded(0):
        model = AlbertModel(config)
    model.save_pretrained(path, WordPieceTokenizer(vocabulary(_WORDS).encode(), True))
    return path


@pytest.fixture
def embedder(directory):
    return albert_tf.TextEmbedder(directory)


@pytest.mark.slow
def test_vectors(embedder, directory):
    model = AlbertForTextEmbedding.from_pretrained(directory)
    expected = model(embedder.tokenizer(_TEXTS)).numpy()
    found = embedder.encode(_TEXTS, batch_size=3)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(embedder.encode(_TEXTS[1]), expected[1], atol=1e-6)
    copy = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(copy.encode(_TEXTS, batch_size=3), found)
    both = embedder.encode(_TEXTS[:2], _TEXTS[2:])
    pairs = model(embedder.tokenizer(_TEXTS[:2], _TEXTS[2:])).numpy()
    np.testing.assert_allclose(both, pairs, atol=1e-6)
    first = embedder.encode(_TEXTS, dimensions=5)
    np.testing.assert_allclose(first, found[:, :5], atol=1e-6)
    unit = albert_tf.TextEmbedder(directory, normalize=True, max_seq_length=5)
    short = unit.encode(_TEXTS, dimensions=5)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        unit.encode("the sun is big"), unit.encode("the sun is"), atol=1e-6
    )


def test_no_texts(embedder):
    assert embedder.encode([]).shape == (0, 12)
    assert embedder.encode([], dimensions=5).shape == (0, 5)
    assert embedder.search("moon", []) == []
    assert embedder.search([], _TEXTS) == []
    with pytest.raises(UserError, match="k=-1: expected at least 1"):
        embedder.rank("moon", _TEXTS, k=-1)


@pytest.mark.slow
def test_similarity_and_search(embedder, monkeypatch):
    vectors = embedder.encode(_TEXTS)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit[:2] @ unit.T
    found = embedder.similarity(_TEXTS[:2], _TEXTS)
    np.testing.assert_allclose(found, cosines, atol=1e-5)
    np.testing.assert_allclose(embedder.similarity(vectors[:2], vectors), found, 1e-5)
    assert embedder.similarity("moon", "moon") == pytest.approx(1)
    monkeypatch.setattr(search, "BLOCK", 3)
    for corpus in (_TEXTS, iter(_TEXTS), vectors):
        answers = embedder.search(_TEXTS[:2], corpus, k=3)
        places = [[answer["index"] for answer in row] for row in answers]
        order = np.argsort(-cosines, axis=1)[:, :3]
        np.testing.assert_array_equal(places, order)
    best = embedder.search("moon", _TEXTS, k=9)
    assert (len(best), best[0]["index"]) == (4, 1)
    assert best[0]["similarity"] == pytest.approx(1)


@pytest.mark.slow
def test_pairs_are_learned_and_kept(embedder, tmp_path):
    pairs = [("the sun", "it is the sun"), ("a moon", "moon is big"), ("star", "a .")]

    def margin():
        """Returns how much closer a text is to its own partner than to others."""
        cosines = embedder.similarity([a for a, _ in pairs], [b for _, b in pairs])
        return np.trace(cosines) / 3 - (cosines.sum() - np.trace(cosines)) / 6

    before = margin()
    sizes = {"epochs": 40, "batch_size": 3, "learning_rate": 5e-3}
    history = embedder.fit(pairs, dimensions=(4, 12), verbose=0, **sizes)
    losses = history.history["loss"]
    assert losses[-1] < losses[0] / 2
    assert margin() > before + 0.3
    embedder.save_pretrained(tmp_path)
    info = json.loads((tmp_path / "training_info.json").read_text())
    assert info["task"]["dimensions"] == [4, 12]
    assert info["max_seq_length"] == 16
    expected = embedder.encode(_TEXTS)
    again = albert_tf.TextEmbedder(tmp_path)
    np.testing.assert_allclose(again.encode(_TEXTS), expected, atol=1e-6)


@pytest.mark.slow
def test_scores_are_learned(embedder):
    texts, others, scores = _TEXTS[:3], _TEXTS[1:], [0.9, 0.2, 0.4]
    pairs = list(zip(texts, others, strict=True))
    embedder.fit(pairs, scores, epochs=40, learning_rate=1e-2, verbose=0)
    assert embedder.evaluate(texts, others, scores)["spearman"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([("a", "b"), ("a",)],), "pairs has rows of 1 and 2 texts; each must be an"),
        (([("a", "b")], [1, 0]), "There are 1 pairs, but 2 scores"),
    ],
)
def test_pairs_that_do_not_fit(embedder, arguments, message):
    with pytest.raises(UserError, match=message):
        embedder.fit(*arguments)


def test_what_the_model_cannot(embedder, directory):
    with pytest.raises(UserError, match="dimensions=13: expected 1 to 12"):
        embedder.encode("moon", dimensions=13)
    with pytest.raises(ValueError, match="temperature is 0, expected above 0"):
        embedder.fit([("a", "b")], temperature=0)
    with pytest.raises(UserError, match="max_seq_length=17: expected 5 to 16"):
        albert_tf.TextEmbedder(directory, max_seq_length=17)
