"""Ranking: losses, metrics, lists and `albert-tf rank`, and what applies its models."""

import json
import random
import tarfile
import types

import numpy as np
import pytest
import sklearn.metrics
import tensorflow as tf

from albert_tf import Predictor
from albert_tf import Reranker
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.tasks.ranking import lists
from albert_tf.tasks.ranking import metrics
from albert_tf.tasks.ranking.flags import RankingOptions
from albert_tf.tasks.ranking.lists import NO_GRADE
from albert_tf.tasks.ranking.lists import RankedList
from albert_tf.tasks.ranking.task import Ranking
from albert_tf.tasks.task import Prepared
from tests.tasks.conftest import results


@pytest.fixture(scope="session")
def cross_encoder(project, tmp_path_factory):
    """Unpacks a CrossEncoder's directory and what sentence-transformers computes.

    `tools/cross_encoder.py` records it.
    """
    folder = tmp_path_factory.mktemp("cross_encoder")
    with tarfile.open(project / "tests/golden/cross_encoder.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    expected = json.loads((folder / "expected.json").read_text())
    (folder / "expected.json").unlink()
    return folder, expected


_SCORES = np.float32([[0.3, -1.2, 2.0, 9.0], [0.5, 0.1, 9.0, 9.0]])
_GRADES = np.float32([[2, 0, 1, NO_GRADE], [0, 0, NO_GRADE, NO_GRADE]])


def _loss(name, scores=_SCORES, grades=_GRADES):
    task = Ranking(name="ranking", loss=name)
    # A batch may have fewer texts than the longest list of all.
    grades = np.pad(grades, [(0, 0), (0, 2)], constant_values=NO_GRADE)
    return np.array(task.losses(tf.constant(scores)[..., None], tf.constant(grades)))


def _better(grades):
    real = [i for i, grade in enumerate(grades) if grade > NO_GRADE]
    return [(i, j) for i in real for j in real if grades[i] > grades[j]]


def _padded(rows, missing=NO_GRADE):
    most = max(map(len, rows))
    rows = [[*row, *[missing] * (most - len(row))] for row in rows]
    return np.float32(rows)


def test_losses_and_metrics_are_those_of_sentence_transformers(cross_encoder):
    _, expected = cross_encoder
    scores, grades = _padded(expected["logits"], 9.0), _padded(expected["grades"])
    for name in ("lambda", "binary"):
        wanted = np.array(expected["losses"][name])
        if name == "lambda":  # theirs is the mean over pairs of different grades
            wanted *= [len(_better(own)) for own in expected["grades"]]
        np.testing.assert_allclose(_loss(name, scores, grades), wanted, rtol=1e-5)
    np.testing.assert_allclose(_loss("lambda"), [_loss("lambda")[0], 0])
    # Of two texts, MarginMSE is the square of the difference, 4 times that of each.
    teacher = tf.constant([expected["teacher"]] * len(scores))
    task = Ranking(name="ranking")
    found = task.distances(tf.constant(scores[:, :2, None]), teacher, 1.0)
    wanted = expected["losses"]["margin_mse"]
    assert 4 * np.mean(found) == pytest.approx(wanted, rel=1e-5)
    found = metrics.ranking_metrics(np.minimum(grades, 1), scores)
    wanted = [expected["metrics"][name] for name in ("ndcg@10", "mrr@10", "map")]
    np.testing.assert_allclose([*found.values()], wanted, rtol=1e-6)


def test_margin_and_a_teacher_that_is_followed_but_for_its_mean():
    scores, task = _SCORES[0], Ranking(name="ranking")
    assert task.loss == parse(RankingOptions, ["rank", "--output_dir=out"]).loss
    assert task.loss == "lambda"
    losses = [max(0, 1 - scores[i] + scores[j]) for i, j in _better(_GRADES[0])]
    np.testing.assert_allclose(_loss("margin"), [np.mean(losses), 0], atol=1e-6)
    # A text that is missing has no tokens, and no score that counts.
    lengths = np.where(_GRADES > NO_GRADE, [3, 4, 5, 6], 0)
    prepared = Prepared(None, types.SimpleNamespace(lengths=lengths))
    teacher = np.float32(task.interpret(prepared, _SCORES[..., None] + 5))
    own = tf.constant(_SCORES)[..., None]
    for more, expected in ((0, 0), (3, [2, 0])):  # from the mean: 2, -1, -1
        teacher[0, 0] += more
        found = task.distances(own, tf.constant(teacher), 1.0)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_metrics_by_hand_and_as_in_scikit_learn():
    scores = np.array([[0.2, 0.9, 0.5, 0], [0.1, 0.2, 0, 0], [0.4, 0.3, 0, 0]])
    none, rest = NO_GRADE, [NO_GRADE] * 2
    grades = np.array([[3, 0, 1, none], [1, 0, *rest], [0, 0, *rest]])
    found = metrics.ranking_metrics(grades, scores)
    first = (1 / np.log2(3) + 7 / 2) / (7 + 1 / np.log2(3))
    assert found["ndcg_at_10"] == pytest.approx(np.mean([first, 1 / np.log2(3)]))
    assert found["mrr_at_10"] == pytest.approx(np.mean([1 / 2, 1 / 2]))
    assert found["map"] == pytest.approx(np.mean([(1 / 2 + 2 / 3) / 2, 1 / 2]))
    gains = np.random.default_rng(0).integers(0, 3, (6, 12))
    gains[:, 9] = 2
    places = -np.arange(12.0) + np.zeros((6, 1))  # in this order
    found = metrics.ndcg_and_mrr(gains, -np.sort(-gains, axis=1))
    wanted = sklearn.metrics.ndcg_score(gains, places, k=10)
    assert found["ndcg_at_10"] == pytest.approx(wanted)
    assert found["mrr_at_10"] == np.mean(1 / (np.argmax(gains > 0, axis=1) + 1))


_THINGS = ["sun", "moon", "mud", "dust"]
_OTHERS = ["the", "a", "is", "very"]


def _rows(queries, seed):
    """A query names a thing; the best text names it, too, and is first or last."""
    chance, rows = random.Random(seed), []
    for number in range(queries):
        thing, *wrong = chance.sample(_THINGS, 3)
        query = " ".join([*chance.choices(_OTHERS, k=3), thing, *["is"] * (number % 4)])
        texts = [(f"the {thing}", 2), *((f"a {own}", 0) for own in wrong)]
        chance.shuffle(texts)
        rows += [(query, text, grade) for text, grade in texts]
    return rows


@pytest.fixture
def flags(tmp_path, tiny_model, command):
    """Runs the command on lists of 24, 8 and 8 queries."""
    data = tmp_path / "data"
    data.mkdir()
    for seed, (role, queries) in enumerate({"train": 24, "dev": 8, "test": 8}.items()):
        lines = ["query\ttext\tlabel"]
        lines += ["\t".join(map(str, row)) for row in _rows(queries, seed)]
        (data / f"{role}.tsv").write_text("\n".join(lines) + "\n")
    return command(
        RankingOptions,
        data_dir=data,
        **tiny_model([*_THINGS, *_OTHERS], initializer_range=0.2),
        max_seq_length=16,
        train_batch_size=8,
        train_step=40,
        save_checkpoints_steps=20,
        learning_rate=1e-2,
    )


@pytest.mark.slow
def test_lists_are_trained_scored_ranked_and_exported(flags, tmp_path):
    served = tmp_path / "served"
    out = flags(do_train=True, do_eval=True, do_predict=True, export_dir=served)
    history = json.loads((out / "history.json").read_text())
    best = max(entry["ndcg_at_10"] for entry in history)
    assert results(out)["ndcg_at_10"] == pytest.approx(best) and best > 0.75
    first = json.loads((out / "predictions.jsonl").read_text().splitlines()[0])
    texts = [own["text"] for own in first["results"]]
    queries = [first["query"]] * len(texts)
    reranker = Reranker(out / "model")
    ranked = reranker.rank(first["query"], texts[::-1], k=2)
    assert (ranked[0]["text"], ranked[0]["index"]) == (texts[0], len(texts) - 1)
    found = [own["score"] for own in first["results"]]
    assert found == sorted(found, reverse=True)
    np.testing.assert_allclose([r["score"] for r in ranked], found[:2], atol=1e-5)
    answers = Predictor(served)(queries, texts)
    np.testing.assert_allclose([own["score"] for own in answers], found, atol=1e-5)
    # To be ranked, texts need no grades, or only one.
    written = (out / "predictions.jsonl").read_text()
    path = tmp_path / "data" / "test.tsv"
    rows = [line.split("\t")[:2] for line in path.read_text().splitlines()]
    for more in ([], ["0"]):
        table = [
            [*rows[0], *["label"] * len(more)],
            *([*row, *more] for row in rows[1:]),
        ]
        path.write_text("".join("\t".join(row) + "\n" for row in table))
        flags(do_predict=True)
        assert (out / "predictions.jsonl").read_text() == written
    # As sentence-transformers' CrossEncoder and back.
    other = tmp_path / "other"
    reranker.model.save_pretrained(other, reranker.tokenizer, format="huggingface")
    config = json.loads((other / "config.json").read_text())
    assert config["problem_type"] == "multi_label_classification"
    assert config["id2label"] == {"0": "relevant"}
    again = Reranker(other).predict(queries, texts)
    np.testing.assert_allclose(again, found, atol=1e-5)


@pytest.mark.slow
def test_a_run_that_follows_another_reranker_continues_exactly(
    flags, cross_encoder, continues_exactly
):
    teacher, _ = cross_encoder
    continues_exactly(flags, loss="margin", teacher=teacher, train_step=4)


def test_a_cross_encoder_scores_and_ranks_as_in_its_library(cross_encoder, tmp_path):
    folder, expected = cross_encoder
    reranker = Reranker(folder)
    for (query, texts), logits, ranks in zip(
        *(expected[name] for name in ("lists", "logits", "ranks")), strict=True
    ):
        scores = reranker.predict([query] * len(texts), texts)
        wanted = Ranking.sigmoid(np.float32(logits))
        np.testing.assert_allclose(scores, wanted, atol=1e-5)
        found = [own["index"] for own in reranker.rank(query, texts)]
        assert found == [own["corpus_id"] for own in ranks]
    # Each form keeps the longest row, which some texts exceed.
    for form in ("huggingface", "model_directory"):
        reranker.model.save_pretrained(tmp_path, reranker.tokenizer, format=form)
        again = Reranker(tmp_path).predict([query] * len(texts), texts)
        np.testing.assert_array_equal(again, scores)


def _read(path, role="train", **changes):
    argv = ["rank", "--output_dir=out", *(f"--{k}={v}" for k, v in changes.items())]
    return lists.read_lists(path, role, parse(RankingOptions, argv))


def test_tables_of_pairs_and_negatives_become_lists(tmp_path):
    path, names = tmp_path / "train.jsonl", ("anchor", "positive", "negative")
    rows = [zip(names, row, strict=True) for row in ("qpn", "rnp", "qns", "qon")]
    path.write_text("".join(json.dumps(dict(row)) + "\n" for row in rows))
    found = _read(path)
    assert found.lists == (
        RankedList("q", ("p", "n", "o", "s"), (1.0, 1.0, 1.0, 0.0)),
        RankedList("r", ("n", "p"), (1.0, 0.0)),
    )
    np.testing.assert_array_equal(found.labels, [[1, 1, 1, 0], [1, 0, -1, -1]])
    # Without divisions a text keeps its place.
    first = RankedList("q", ("p", "n", "s", "o"), (1.0, 1.0, 0.0, 1.0))
    assert _read(path, "test").lists == (first, RankedList("r", ("n", "p"), (1.0, 0.0)))


def test_grades_of_a_table(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("query\ttext\nq\ta\nq\tb\n")
    found = _read(path, "test")
    assert found.lists == (RankedList("q", ("a", "b"), None),)
    assert not found.is_labelled
    for grade, why in (("-2", "is less than 0"), ("31", "is above 30, but gains are")):
        path.write_text(f"query\ttext\tlabel\nq\ta\t{grade}\n")
        with pytest.raises(UserError, match=f"line 2: the grade '{grade}' {why}"):
            _read(path)
    path.write_text("query\ttext\tlabel\nq\ta\t30\nq\tb\t0\nq\tc\t1\nq\td\t\n")
    with pytest.raises(UserError, match="line 5"):
        _read(path, "dev")
    # Training lists are divided, others stay whole.
    whole = RankedList("q", ("a", "b", "c"), (30.0, 0.0, 1.0))
    settings = {"list_size": 2, "skip_bad_rows": True}
    for role, expected in (
        ("train", (RankedList("q", ("a", "b"), (30.0, 0.0)),)),
        ("dev", (whole,)),
        ("test", (whole,)),
    ):
        found = _read(path, role, **settings)
        assert (found.num_skipped, found.role) == (1, role)
        assert found.lists[: len(expected)] == expected
    # Of a text with several grades the highest counts.
    path.write_text("query\ttext\tlabel\nq\ta\t0\nq\ta\t2\nq\ta\t1\nq\tb\t0\n")
    assert _read(path).lists == (RankedList("q", ("a", "b"), (2.0, 0.0)),)


@pytest.mark.parametrize("grades", [(1.0,) + 15 * (0.0,), 15 * (2.0,) + (1.0,)])
def test_long_training_lists_are_divided_by_grade(grades):
    own = RankedList("q", tuple("abcde"), (0.0, 3.0, 0.0, 2.0, 1.0))
    parts = [*lists.divided(own, 3)]
    assert [part.texts for part in parts] == [("b", "e", "c"), ("d", "a")]
    assert parts[0].grades == (3.0, 1.0, 0.0)
    # A rare grade is in each part.
    parts = [*lists.divided(RankedList("q", tuple("abcdefghijklmnop"), grades), 8)]
    assert [len({*part.texts}) for part in parts] == [6, 6, 6]
    assert all(len({*part.grades}) == 2 for part in parts)
    assert {text for part in parts for text in part.texts} == {*"abcdefghijklmnop"}


def test_a_reranker_reads_pairs_and_has_one_output(opened, flags, tmp_path):
    made = opened("regression")
    with pytest.raises(UserError, match="has 3 outputs; a reranker has one"):
        Reranker(opened("pairs").folder)
    with pytest.raises(UserError, match="has learned from single texts, but a"):
        Reranker(made.folder)
    task = {"kind": "regression", "name": "custom", "pair": True}
    info = {"task": {**task, "long_texts": "head_tail"}, "max_seq_length": 12}
    made.model.save_pretrained(tmp_path / "pairs", made.tokenizer, info)
    reranker = Reranker(tmp_path / "pairs")
    texts = ["a film", "the plot " * 9 + "was very good", "bad"]
    scores = reranker.predict(["which one"] * 3, texts)
    expected = Predictor(tmp_path / "pairs").arrays(["which one"] * 3, texts)
    np.testing.assert_allclose(scores, expected["score"], atol=1e-5)
    ranked = reranker.rank("which one", iter(texts))
    assert [own["index"] for own in ranked] == np.argsort(-scores).tolist()
    assert reranker.predict([], []).shape == (0,)
    assert Ranking.sigmoid(np.float32([-200, 0, 200])).tolist() == [0, 0.5, 1]
    with pytest.raises(UserError, match="k=0: expected at least 1"):
        reranker.rank("which one", texts, k=0)
    for step, why in (
        ("do_train", "train.tsv .* so that there is nothing to learn"),
        ("do_eval", "dev.tsv .* so that every order scores the same"),
    ):
        with pytest.raises(UserError, match=why):
            flags(**{step: True}, label_column="none", negative_column="none")
