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
from albert_tf.serving.predictor import Predictor
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


def test_vectors(embedder, directory):
    model = AlbertForTextEmbedding.from_pretrained(directory)
    expected = model(embedder.tokenizer(_TEXTS)).numpy()
    found = embedder.encode(_TEXTS, batch_size=3)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(embedder.encode(_TEXTS[1]), expected[1], atol=1e-6)
    first = embedder.encode(_TEXTS, dimensions=5)
    np.testing.assert_allclose(first, found[:, :5], atol=1e-6)
    unit = albert_tf.TextEmbedder(directory, normalize=True, max_seq_length=5)
    short = unit.encode(_TEXTS, dimensions=5)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        unit.encode("the sun is big"), unit.encode("the sun is"), atol=1e-6
    )


def test_a_copy_has_the_same_vectors(embedder):
    expected = embedder.encode(_TEXTS)
    again = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(again.encode(_TEXTS), expected)


def test_no_texts(embedder):
    assert embedder.encode([]).shape == (0, 12)
    assert embedder.encode([], dimensions=5).shape == (0, 5)
    assert embedder.search("moon", []) == []
    assert embedder.search([], _TEXTS) == []


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


def test_pairs_are_learned_kept_and_served(embedder, tmp_path):
    pairs = [
        ("the sun", "it is the sun"),
        ("a moon", "moon is big"),
        ("star", "a star ."),
    ]
    before = embedder.similarity([a for a, _ in pairs], [b for _, b in pairs])
    history = embedder.fit(
        pairs,
        epochs=40,
        batch_size=3,
        learning_rate=5e-3,
        dimensions=(4, 12),
        verbose=0,
    )
    losses = history.history["loss"]
    assert losses[-1] < losses[0] / 2
    after = embedder.similarity([a for a, _ in pairs], [b for _, b in pairs])

    def margin(cosines):
        return np.trace(cosines) / 3 - (cosines.sum() - np.trace(cosines)) / 6

    assert margin(after) > margin(before) + 0.3
    embedder.save_pretrained(tmp_path)
    info = json.loads((tmp_path / "training_info.json").read_text())
    assert info["task"]["dimensions"] == [4, 12]
    assert info["max_seq_length"] == 16
    expected = embedder.encode(_TEXTS)
    again = albert_tf.TextEmbedder(tmp_path)
    np.testing.assert_allclose(again.encode(_TEXTS), expected, atol=1e-6)
    answers = Predictor(tmp_path)(_TEXTS)
    np.testing.assert_allclose(
        [answer["embedding"] for answer in answers], expected, atol=1e-5
    )


def test_scores_and_texts_are_learned(embedder, directory):
    texts, others = _TEXTS[:3], _TEXTS[1:]
    scores = [0.9, 0.2, 0.4]
    pairs = list(zip(texts, others, strict=True))
    embedder.fit(pairs, scores, epochs=40, learning_rate=1e-2, verbose=0)
    assert embedder.evaluate(texts, others, scores)["spearman"] == 1
    found = []
    for _ in range(2):
        dropping = albert_tf.TextEmbedder(directory, hidden_dropout_prob=0.1)
        history = dropping.fit(_TEXTS, batch_size=4, verbose=0)
        found += history.history["loss"]
    assert np.isfinite(found).all() and found[0] == found[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([("a", "b"), ("a",)],), "pairs has rows of 1 and 2 texts; each must be an"),
        (([],), "pairs has rows of no texts"),
        (([("a", "")],), r"pairs\[0\] holds an empty text"),
        (([("a", 3)],), r"pairs\[0\] holds an empty text, or something else"),
        (([("a", "b")], [1.5]), "scores: the score 1.5 is not a number from 0 to 1"),
        (([("a", "b")], [1, 0]), "There are 1 pairs, but 2 scores"),
        (
            ([("a", "b")], None, "cosine"),
            "loss='cosine' does not fit pairs of 2 texts ",
        ),
        (([("a", "b")], None, "simcse"), "loss='simcse' does not fit pairs of 2 texts"),
        (([("a", "b")], None, "triplet"), "loss='triplet' does not fit"),
    ],
)
def test_pairs_that_do_not_fit(embedder, arguments, message):
    with pytest.raises(UserError, match=message):
        embedder.fit(*arguments)


def test_what_the_model_cannot(embedder, directory):
    with pytest.raises(UserError, match="dimensions=13: expected 1 to 12"):
        embedder.encode("moon", dimensions=13)
    with pytest.raises(UserError, match="dimensions=13: the model's vectors have 12"):
        embedder.fit([("a", "b")], dimensions=[13])
    with pytest.raises(ValueError, match="temperature is 0, expected above 0"):
        embedder.fit([("a", "b")], temperature=0)
    with pytest.raises(UserError, match="give hidden_dropout_prob 0.1"):
        embedder.fit(["a", "b"])
    with pytest.raises(UserError, match="max_seq_length=17: expected 5 to 16"):
        albert_tf.TextEmbedder(directory, max_seq_length=17)
