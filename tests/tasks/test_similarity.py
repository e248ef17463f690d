"""Vectors of texts: losses, search, tables of pairs, and run_similarity.py."""

import itertools
import json
import random
import types

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import text_embedder
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.similarity import run
from albert_tf.tasks.similarity import search
from albert_tf.tasks.similarity import task as objective
from albert_tf.tasks.similarity.flags import SimilarityOptions
from albert_tf.tasks.similarity.reading import read_pairs
from albert_tf.tasks.similarity.reading import table_of
from albert_tf.tasks.similarity.task import Similarity
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results

THINGS = ["sun", "moon", "star", "mud", "dust", "sand", "clay", "rock"]
_OTHER_WORDS = ["the", "a", "is", "and", "very", "not", "it"]
_PAIR = ("anchor", "positive", "negative")
_SCORED = ("sentence1", "sentence2", "score")
_PIECES = [*THINGS, *_OTHER_WORDS, "."]


def pairs(count, seed):
    """Rows of two texts on one thing, and one on another."""
    chance, rows = random.Random(seed), []
    for _ in range(count):
        thing, other = chance.sample(THINGS, 2)
        rows.append([])
        for own in (thing, thing, other):
            words = chance.choices(_OTHER_WORDS, k=3)
            words.insert(chance.randrange(4), own)
            rows[-1].append(" ".join(words))
    return rows


def scored(count, seed):
    """Rows of two texts, and whether they are on one thing."""
    chance = random.Random(seed)
    return [
        [a, b, "1.0"] if chance.random() < 0.5 else [a, c, "0.25"]
        for a, b, c in pairs(count, seed)
    ]


@pytest.fixture
def write(tmp_path):
    """Writes a table into the folder `data`."""

    def write_table(name, header, rows):
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        lines = ["\t".join(row) for row in ([*header], *rows)]
        path.write_text("\n".join(lines) + "\n")

    return write_table


@pytest.fixture
def defaults(tmp_path, tiny_model):
    """The flags of a short run on the folder `data`."""
    return {
        "data_dir": tmp_path / "data",
        **tiny_model(_PIECES),
        "max_seq_length": 8,
        "train_batch_size": 16,
        "train_step": 40,
        "save_checkpoints_steps": 20,
        "learning_rate": 1e-2,
    }


@pytest.fixture
def flags(command, defaults):
    """Runs the command with flags; see `defaults`."""
    return command(SimilarityOptions, **defaults)


_VECTORS = np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
_DISTINCT = np.arange(12).reshape(4, 3)
# Rows 0 and 1 have one anchor; row 2 has row 0's positive; row 3's positive is its
# anchor, and its negative the positive of row 2.
_EQUAL = np.array([[0, 1, 2], [0, 3, 4], [5, 1, 6], [7, 7, 1]])
_SCORES = np.array([0.9, 0.1, 0.5, 0.5], np.float32)
_TEMPERATURE = 0.5  # by which every negative is felt


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def info_nce_by_loops(texts, symmetric=False):
    """The mean loss, and the negatives that each anchor has."""

    def exponent(anchor, other):
        return np.exp(cosine(_VECTORS[anchor], _VECTORS[other]) / _TEMPERATURE)

    found, negatives, rows = [], [], range(len(texts))
    for i in rows:
        own = [
            (j, column)
            for column in range(1, texts.shape[1])
            for j in rows
            if (j, column) != (i, 1) and texts[j, column] not in texts[i, :2]
            if column > 1 or texts[j, 0] != texts[i, 0]
        ]
        positive = exponent((i, 0), (i, 1))
        there = sum(exponent((i, 0), other) for other in own)
        losses = [np.log(1 + there / positive)]
        if symmetric:
            back = sum(exponent((j, 0), (i, 1)) for j, column in own if column == 1)
            losses.append(np.log(1 + back / positive))
        found.append(np.mean(losses))
        negatives.append(own)
    return np.array(found), negatives


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("texts", [_DISTINCT, _DISTINCT[:, :2], _EQUAL])
def test_info_nce(texts, symmetric):
    expected, negatives = info_nce_by_loops(texts, symmetric)
    if texts is _EQUAL:
        assert [len(own) for own in negatives] == [4, 6, 5, 7]
    vectors = _VECTORS[:, : texts.shape[1]]
    found, hits = objective.info_nce(vectors, texts, _TEMPERATURE, symmetric)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for (anchor, positive, *_), own, hit in zip(_VECTORS, negatives, hits, strict=True):
        best = max(cosine(anchor, vectors[place]) for place in own)
        assert hit == (cosine(anchor, positive) > best)


def test_cosent_cosine_and_losses_of_dimensions():
    pairs, texts = tf.constant(_VECTORS[:, :2]), tf.constant(_DISTINCT[:, :2])
    cosines = [cosine(first, second) for first, second in _VECTORS[:, :2]]
    total = 1.0
    for i, j in itertools.product(range(4), repeat=2):
        if _SCORES[i] < _SCORES[j]:
            total += np.exp((cosines[i] - cosines[j]) / _TEMPERATURE)
    found = objective.cosent(pairs, _SCORES, _TEMPERATURE)
    np.testing.assert_allclose(found, [np.log(total)] * 4, rtol=1e-5)
    found = objective.cosine(pairs, _SCORES)
    np.testing.assert_allclose(found, (cosines - _SCORES) ** 2, rtol=1e-5)
    # Losses of dimensions are added up; the whole vector, which comes first here, says
    # what is right.
    task = Similarity(name="t", dimensions=(5, 2))
    found, hits = task.losses(pairs, texts), task.right(pairs, texts)
    whole, part = (objective.info_nce(pairs[..., :n], texts, 0.05) for n in (5, 2))
    np.testing.assert_allclose(found, whole[0] + part[0], rtol=1e-6)
    np.testing.assert_array_equal(hits, whole[1])
    assert (whole[1].numpy() != part[1].numpy()).any()


def test_what_a_model_cannot_learn_is_refused(tiny_config):
    simcse = Similarity(name="t", loss="simcse")
    simcse.check_model(tiny_config(hidden_dropout_prob=0.1))
    Similarity(name="t", dimensions=(1, 12)).check_model(tiny_config())
    for task, message in (
        (simcse, "loss=simcse compares two vectors .* none"),
        (Similarity(name="t", dimensions=(4, 13)), "=13: the model's vectors have 12"),
    ):
        with pytest.raises(UserError, match=message):
            task.check_model(tiny_config())
    with pytest.raises(ValueError, match="dimensions is .* expected integers"):
        Similarity(name="t", dimensions=(4, 0))
    with pytest.raises(
        UserError, match="before each window, but .* prompts a, b; take"
    ):
        Similarity(name="t", long_texts="windows", prompts={"a": "x", "b": "y"})


def test_windows_of_a_text_are_one_vector():
    vectors, owners = tf.constant([[3.0, 0], [3, 8], [0, 2]]), tf.constant([0, 0, 1])
    features = types.SimpleNamespace(windows=lambda text: ({}, owners))
    for normalize, expected in (
        (False, [[3, 4], [0, 2]]),
        (True, [[0.6, 0.8], [0, 1]]),
    ):
        task = Similarity(name="t", long_texts="windows", normalize=normalize)
        answer = task.string_answers(features, lambda _: {"embedding": vectors})
        found = answer(tf.constant(["a", "b"]))["embedding"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("pairs", "changes", "message"),
    [
        ([], {}, "pairs has rows of no texts; each must be"),
        ([("a", "b"), ("a", "b", "c")], {}, "pairs has rows of 2 and 3 texts"),
        ([("a", "b", "c", "d")], {}, "pairs has rows of 4 texts"),
        (["a"], {"scores": [1]}, "loss='simcse' does not fit pairs of 1 texts with sc"),
        (
            [("a", "b")],
            {"loss": "cosent"},
            "'cosent' does not .* of 2 texts without sc",
        ),
        ([("a", "b", "c")], {"scores": [1]}, "'info_nce' does not .* of 3 texts with"),
        (
            [("a", "b", "c")],
            {"scores": [1], "loss": "cosent"},
            "'cosent' does not fit pairs of 3 texts with sc",
        ),
        (["a"], {"loss": "info_nce"}, "loss='info_nce' does not fit pairs of 1 texts"),
        ([("a", "b")], {"loss": "simcse"}, "loss='simcse' does not fit pairs of 2 tex"),
        ([("a", "b"), ("a", " ")], {}, r"pairs\[1\] holds an empty text"),
        ([("a", 1)], {}, r"pairs\[0\] holds an empty text, or something else"),
        ([("a", "b")], {"scores": [1, 0]}, "There are 1 pairs, but 2 scores"),
    ],
)
def test_pairs_that_cannot_be_learned(pairs, changes, message):
    with pytest.raises(UserError, match=message):
        table_of(pairs, **changes)


@pytest.mark.parametrize(
    ("pairs", "given", "loss", "labels"),
    [
        (["a", "b", "a"], {}, "simcse", [[0, 0], [1, 1], [0, 0]]),
        ([("a", "b"), ("b", "c")], {}, "info_nce", [[0, 1], [1, 2]]),
        ([("a", "b", "c"), ("d", "a", "b")], {}, "info_nce", [[0, 1, 2], [3, 0, 1]]),
        ([("a", "b"), ("c", "d")], {"scores": [0.25, 1]}, "cosent", [0.25, 1]),
        ([("a", "b")], {"scores": iter("0"), "loss": "cosine"}, "cosine", [0]),
    ],
)
def test_the_loss_follows_from_the_pairs(pairs, given, loss, labels):
    table, found = table_of(pairs, **given)
    assert (found, table.labels.tolist()) == (loss, labels)
    assert table.rows.tolist() == [*range(len(pairs))]


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
    assert scores["ndcg_at_10"] == pytest.approx(((1 + 1 / 2) / ideal + 1) / 2)


@pytest.fixture
def read(tmp_path):
    def read_role(role="train", **flags):
        flags |= {"output_dir": "o", "data_dir": tmp_path / "data"}
        argv = [f"--{name}={value}" for name, value in flags.items()]
        return read_pairs(parse(SimilarityOptions, ["run", *argv]), [role])[role]

    return read_role


def test_pairs(write, read):
    write("train.tsv", ("anchor", "positive"), [("a", "b"), ("a", "c"), ("c", "c")])
    table = read()
    assert (table.texts, table.text_pairs) == (["a", "a", "c"], ["b", "c", "c"])
    np.testing.assert_array_equal(table.labels, [[0, 1], [0, 2], [2, 2]])
    write("train.tsv", ("x", "negative", "y"), [("a", "n", "b"), ("b", "a", "m")])
    table = read(text_column="x", text_pair_column="y")
    assert table.negatives == ["n", "a"]
    np.testing.assert_array_equal(table.labels, [[0, 1, 2], [1, 3, 0]])
    other = read(text_column="x", text_pair_column="y", negative_column="z")
    assert other.negatives is None
    assert other.digest() != table.digest()


def test_scores_are_shares_of_the_largest(write, read):
    rows = [("a", "b", "5"), ("c", "d", "0"), ("e", "f", "2.5")]
    for role in ("train", "dev"):
        write(f"{role}.tsv", _SCORED, rows)
    table = read(loss="cosent", max_score=5)
    np.testing.assert_array_equal(table.labels, np.array([1, 0, 0.5], np.float32))
    # InfoNCE learns from the pairs, whatever their scores; a dev set keeps them.
    assert read(loss="info_nce").labels.ndim == 2
    assert read("dev", max_score=5).labels.ndim == 1
    # Single texts, and a test table without scores.
    write("train.tsv", ("text",), [("a",), ("b",), ("a",)])
    table = read(loss="simcse")
    assert table.text_pairs is None
    np.testing.assert_array_equal(table.labels, [[0, 0], [1, 1], [0, 0]])
    write("test.tsv", ("anchor", "positive"), [("a", ""), ("b", "c")])
    table = read("test")
    assert (table.labels, table.text_pairs) == (None, ["", "c"])
    for score, largest in (("-0.1", 1), ("1.5", 1), ("6", 5), ("x", 5)):
        write("train.tsv", _SCORED, [("a", "b", score)])
        told = f"line 2: .*'{score}' is not a number from 0 to {largest}; correct"
        with pytest.raises(UserError, match=told):
            read(loss="cosine", **({} if largest == 1 else {"max_score": largest}))


@pytest.fixture
def triplets(write):
    write("train.tsv", _PAIR, pairs(64, 0))
    write("dev.tsv", _PAIR[:2], [row[:2] for row in pairs(8, 1)])
    write("test.tsv", _SCORED, scored(10, 2))


TEXTS = [[row[place] for row in scored(10, 2)] for place in (0, 1)]
"""Those of test.tsv."""


def similarities(out):
    """The similarities that the command predicted."""
    header, *lines = (out / "test_results.tsv").read_text().splitlines()
    assert header == "index\tsimilarity"
    return [float(line.split("\t")[1]) for line in lines]


@pytest.mark.slow
def test_pairs_are_trained_scored_applied_and_exported(triplets, flags, tmp_path):
    served = tmp_path / "served"
    out = flags(do_train=True, do_eval=True, do_predict=True, export_dir=served)
    found = results(out)
    history = json.loads((out / "history.json").read_text())
    assert [entry["step"] for entry in history] == [20, 40]
    assert found["ndcg_at_10"] == max(entry["ndcg_at_10"] for entry in history) > 0.8
    assert found["test_spearman"] > 0.7
    model = AlbertForTextEmbedding.from_pretrained(out / "model")
    tokenizer = load_tokenizer(out / "model")
    first, second = (model(tokenizer(column)).numpy() for column in TEXTS)
    np.testing.assert_allclose(similarities(out), np.sum(first * second, 1), atol=1e-4)
    answers = Predictor(served)(TEXTS[0])
    np.testing.assert_allclose([a["embedding"] for a in answers], first, atol=1e-5)


_BY_CLS = Similarity(name="custom", pooling="cls", normalize=False)


@pytest.fixture
def vectors(saved_task):
    """The folder of a model of vectors that pools [CLS]."""
    return saved_task(_BY_CLS, max_seq_length=8)


def test_an_embedder_takes_length_and_pooling_of_training(vectors, monkeypatch):
    embedder = albert_tf.TextEmbedder(vectors)
    words = ["the", "sun", "is", "very", "the", "moon", "is", "not", "the", "sun"]
    whole, cut = (embedder.encode(" ".join(words[:n])) for n in (len(words), 6))
    np.testing.assert_allclose(whole, cut, atol=1e-6)
    assert np.abs(embedder.encode(" ".join(words[:5])) - cut).max() > 1e-4
    asked = []
    monkeypatch.setattr(text_embedder, "fit", lambda *own: asked.append(own))
    embedder.fit([("the sun", "sun")])
    [(_, tokens, loss, *settings)] = asked
    assert settings == [8, 1, 32, 2e-5, None, 0]
    assert loss.get_config()["task"] == _BY_CLS.to_dict()
    assert tokens.labels.tolist() == [[0, 1]]


@pytest.mark.slow
def test_a_run_goes_on_exactly(triplets, vectors, flags, continues_exactly):
    """With a teacher of its vectors."""
    settings = {"teacher": vectors, "gradient_accumulation_steps": 2}
    continues_exactly(flags, train_step=4, **settings)


@pytest.mark.slow
def test_texts_alone_are_learned_and_texts_in_windows_applied(triplets, write, flags):
    write("train.tsv", ["text"], [[row[0]] for row in pairs(32, 0)])
    write("dev.tsv", _SCORED, scored(8, 1))
    changes = {"loss": "simcse", "albert_dropout_prob": 0.1, "train_step": 1}
    windows = {"long_texts": "windows", "max_seq_length": 5}
    out = flags(do_train=True, do_predict=True, **changes, **windows)
    history = json.loads((out / "history.json").read_text())
    assert "spearman" in history[-1]
    first, second = map(text_embedder.TextEmbedder(out / "model").encode, TEXTS)
    np.testing.assert_allclose(similarities(out), np.sum(first * second, 1), atol=1e-4)


def test_flags_make_the_task(triplets, asked, vectors):
    task, examples = asked(run, do_train=True)
    assert list(examples) == ["train", "dev"]
    # The dev set has no scores, whatever the test set has.
    fields = {"loss": "info_nce", "temperature": 0.05, "scored": False}
    assert task == Similarity(name="custom", **fields)
    assert asked(run, do_train=True, do_predict=True)[0] == task
    changes = {"temperature": 0.5, "symmetric": True, "dimensions": "4,16"}
    task, _ = asked(run, do_train=True, **changes, normalize=False)
    assert (task.temperature, task.symmetric, task.dimensions) == (0.5, True, (4, 16))
    assert (task.pooling, task.normalize) == ("mean", False)
    # A run starts with the pooling of its model.
    start = {"init_checkpoint": vectors, "from_scratch": None}
    task, _ = asked(run, do_train=True, **start)
    assert (task.pooling, task.normalize) == ("cls", False)
    task, _ = asked(run, do_train=True, **start, pooling="mean", normalize=True)
    assert (task.pooling, task.normalize) == ("mean", True)
    task, examples = asked(run, do_predict=True, **start, dimensions="4")
    assert (task.pooling, task.dimensions, list(examples)) == ("cls", (), ["test"])


def test_sts_b_as_glue_publishes_it(write, asked, read, tmp_path):
    for name, rows in (("train", scored(16, 0)), ("dev", scored(8, 1))):
        rows = [[str(i), a, b, str(5 * float(s))] for i, (a, b, s) in enumerate(rows)]
        write(f"STS-B/{name}.tsv", ("index", *_SCORED), rows)
    own = {"task_name": "sts-b", "data_dir": tmp_path / "data", "do_train": True}
    task, examples = asked(run, **own, loss="cosine")
    expected = [float(score) for *_, score in scored(16, 0)]
    assert (task.scored, examples["train"].labels.tolist()) == (True, expected)
    _, examples = asked(run, **own, loss="simcse", albert_dropout_prob=0.1)
    train = examples["train"]
    assert sorted(train.texts) == sorted({t for row in scored(16, 0) for t in row[:2]})
    assert train.text_pairs is None
    with pytest.raises(UserError, match="has scores, of which --loss=info_nce makes"):
        asked(run, **own)
    # Without training the loss does not matter.
    expected = [float(score) for *_, score in scored(8, 1)]
    for loss in ("info_nce", "simcse"):
        dev = read("dev", task_name="sts-b", loss=loss)
        assert (dev.labels.tolist(), len(dev.text_pairs)) == (expected, 8)
    half = read("dev", task_name="sts-b", max_score=10).labels
    assert (2 * half).tolist() == expected
    rows = [[str(i), a, b] for i, (a, b, _) in enumerate(scored(4, 2))]
    write("STS-B/test.tsv", ("index", *_SCORED[:2]), rows)
    _, examples = asked(run, **own, loss="cosine", do_predict=True)
    assert (len(examples["test"]), examples["test"].labels) == (4, None)


@pytest.mark.slow
def test_a_prompt_is_learned_kept_and_applied(triplets, flags, tmp_path):
    out = flags(do_train=True, do_predict=True, train_step=1, prompt="the ")
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["prompts"] == {"default": "the "}
    embedder = albert_tf.TextEmbedder(out / "model")

    def check(out, *prompts):
        prompted = [
            embedder.encode([prompt + text for text in own], prompt="")
            for prompt, own in zip(prompts, TEXTS, strict=True)
        ]
        cosines = np.sum(np.prod(prompted, axis=0), axis=1)
        np.testing.assert_allclose(similarities(out), cosines, atol=1e-4)

    check(out, "the ", "the ")
    # Another prompt, in evaluation alone, and one for each side.
    check(flags(do_predict=True, prompt="mud is "), "mud is ", "mud is ")
    two = {"prompts": {"query": "not ", "document": "very "}}
    albert_tf.TextEmbedder(out / "model", **two).save_pretrained(tmp_path / "two")
    start = {**APPLIED, "init_checkpoint": tmp_path / "two"}
    asked = {"prompt_name": "query,document", "output_dir": tmp_path / "o"}
    flags(do_predict=True, **start, **asked)
    check(tmp_path / "o", "not ", "very ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimensions": "8,0"}, "--dimensions=8,0 are no sizes"),
        ({"dimensions": "8,x"}, "--dimensions=8,x are no sizes"),
        ({"teacher_distance": "squared"}, "--teacher_distance=squared needs --teacher"),
        ({"symmetric": True, "loss": "cosent"}, "--symmetric is for --loss=info_nce"),
        ({"prompt": "a", "prompt_name": "b"}, "Give either --prompt_name or --prompt"),
        ({"prompt_name": "query"}, "prompt_name='query': the model has no prompts"),
        ({"prompt_name": "a,b,c"}, "expected one name, or two"),
    ],
)
def test_flags_that_do_not_fit(triplets, flags, changes, message):
    with pytest.raises(UserError, match=message):
        flags(do_train=True, **changes)
