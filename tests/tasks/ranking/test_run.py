"""albert-tf rank end to end, and what applies its models."""

import json
import random

import numpy as np
import pytest

from albert_tf import Predictor
from albert_tf import Reranker
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tasks.ranking.flags import RankingOptions
from albert_tf.tasks.ranking.lists import RankedList
from albert_tf.tasks.ranking.lists import divided
from albert_tf.tasks.ranking.lists import read_lists
from albert_tf.tasks.ranking.task import Ranking

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
def flags(tmp_path, tiny_model):
    """Runs the command on lists of 24, 8 and 8 queries."""
    data = tmp_path / "data"
    data.mkdir()
    for seed, (role, queries) in enumerate({"train": 24, "dev": 8, "test": 8}.items()):
        lines = ["query\ttext\tlabel"]
        lines += ["\t".join(map(str, row)) for row in _rows(queries, seed)]
        (data / f"{role}.tsv").write_text("\n".join(lines) + "\n")
    defaults = {
        "data_dir": data,
        **tiny_model([*_THINGS, *_OTHERS], initializer_range=0.2),
        "max_seq_length": 16,
        "train_batch_size": 8,
        "train_step": 40,
        "save_checkpoints_steps": 20,
        "learning_rate": 1e-2,
    }

    def run(**changes):
        values = {**defaults, **changes}
        argv = ["rank", *(f"--{k}={v}" for k, v in values.items() if v is not None)]
        run_repeatedly(parse(RankingOptions, argv))
        return tmp_path / "out"

    return run


@pytest.mark.slow
def test_lists_are_trained_scored_ranked_and_exported(flags, tmp_path):
    served = tmp_path / "served"
    out = flags(do_train=True, do_eval=True, do_predict=True, export_dir=served)
    history = json.loads((out / "history.json").read_text())
    best = max(entry["ndcg_at_10"] for entry in history)
    assert best > 0.75
    scores = dict(
        line.split(" = ")
        for line in (out / "eval_results.txt").read_text().splitlines()
    )
    assert float(scores["ndcg_at_10"]) == pytest.approx(best)
    lines = (out / "predictions.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    texts = [own["text"] for own in first["results"]]
    reranker = Reranker(out / "model")
    ranked = reranker.rank(first["query"], texts[::-1], k=2)
    assert ranked[0]["text"] == texts[0]
    assert ranked[0]["index"] == len(texts) - 1
    found = [own["score"] for own in first["results"]]
    assert found == sorted(found, reverse=True)
    np.testing.assert_allclose([r["score"] for r in ranked], found[:2], atol=1e-5)
    answers = Predictor(served)([first["query"]] * len(texts), texts)
    np.testing.assert_allclose([own["score"] for own in answers], found, atol=1e-5)
    # As sentence-transformers' CrossEncoder and back.
    other = tmp_path / "other"
    reranker.model.save_pretrained(other, reranker.tokenizer, format="huggingface")
    config = json.loads((other / "config.json").read_text())
    assert config["problem_type"] == "multi_label_classification"
    assert config["id2label"] == {"0": "relevant"}
    again = Reranker(other).predict([first["query"]] * len(texts), texts)
    np.testing.assert_allclose(again, found, atol=1e-5)


@pytest.mark.slow
def test_a_run_continues_exactly_and_follows_another_reranker(
    flags, saved_model, tmp_path, continues_exactly
):
    short = {"train_step": 4, "save_checkpoints_steps": 2}
    continues_exactly(flags, loss="margin", **short)
    teacher = tmp_path / "out" / "model"
    taught = {"teacher": teacher, "teacher_weight": 1.0, "output_dir": tmp_path / "two"}
    flags(do_train=True, **short, **taught)
    assert (tmp_path / "two" / "model").is_dir()


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
    return read_lists(path, role, parse(RankingOptions, argv))


def test_tables_of_pairs_and_negatives_become_lists(tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [
        {"anchor": "q", "positive": "p", "negative": "n"},
        {"anchor": "r", "positive": "n", "negative": "p"},
        {"anchor": "q", "positive": "n", "negative": "s"},
        {"anchor": "q", "positive": "o", "negative": "n"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = _read(path)
    assert found.lists == (
        RankedList("q", ("p", "n", "o", "s"), (1.0, 1.0, 1.0, 0.0)),
        RankedList("r", ("n", "p"), (1.0, 0.0)),
    )
    np.testing.assert_array_equal(found.labels, [[1, 1, 1, 0], [1, 0, -1, -1]])


def test_unlabelled_texts_of_a_test_table_have_no_grades(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("query\ttext\nq\ta\nq\tb\n")
    found = _read(path, "test")
    assert found.lists == (RankedList("q", ("a", "b"), None),)
    assert not found.is_labelled
    for grade, why in (("-2", "is less than 0"), ("31", "is above 30, but gains are")):
        path.write_text(f"query\ttext\tlabel\nq\ta\t{grade}\n")
        with pytest.raises(UserError, match=f"line 2: the grade '{grade}' {why}"):
            _read(path)
    # Of a text with several grades the highest counts.
    path.write_text("query\ttext\tlabel\nq\ta\t0\nq\ta\t2\nq\ta\t1\nq\tb\t0\n")
    assert _read(path).lists == (RankedList("q", ("a", "b"), (2.0, 0.0)),)


def test_long_training_lists_are_divided_by_grade():
    own = RankedList("q", tuple("abcde"), (0.0, 3.0, 0.0, 2.0, 1.0))
    parts = [*divided(own, 3)]
    assert [part.texts for part in parts] == [("b", "e", "c"), ("d", "a")]
    assert parts[0].grades == (3.0, 1.0, 0.0)


@pytest.mark.parametrize("grades", [(1.0,) + 15 * (0.0,), 15 * (2.0,) + (1.0,)])
def test_a_rare_grade_is_in_each_part_of_a_list(grades):
    parts = [*divided(RankedList("q", tuple("abcdefghijklmnop"), grades), 8)]
    assert [len(part.texts) for part in parts] == [6, 6, 6]
    assert all(len({*part.grades}) == 2 for part in parts)
    assert {text for part in parts for text in part.texts} == {*"abcdefghijklmnop"}
    assert all(len({*part.texts}) == len(part.texts) for part in parts)


def test_a_reranker_reads_pairs_and_has_one_output(
    saved_model, opened, flags, tmp_path
):
    with pytest.raises(UserError, match="has 3 outputs; a reranker has one"):
        Reranker(saved_model("pairs"))
    with pytest.raises(UserError, match="has learned from single texts, but a"):
        Reranker(saved_model("regression"))
    made = opened("regression")
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
    shares = Ranking.sigmoid(np.float32([-200, 0, 200]))
    assert shares.tolist() == [0, 0.5, 1]
    with pytest.raises(UserError, match="k=0: expected at least 1"):
        reranker.rank("which one", texts, k=0)
    for step, why in (
        ("do_train", "train.tsv .* so that there is nothing to learn"),
        ("do_eval", "dev.tsv .* so that every order scores the same"),
    ):
        with pytest.raises(UserError, match=why):
            flags(**{step: True}, label_column="none", negative_column="none")
