"""run_similarity.py end to end, on a tiny table."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf import text_embedder
from albert_tf.cli.command_line import parse
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.similarity import run
from albert_tf.tasks.similarity.flags import SimilarityOptions
from albert_tf.tasks.similarity.task import Similarity
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import results
from tests.tasks.similarity.conftest import pairs
from tests.tasks.similarity.conftest import scored

_PAIR, _SCORED = ("anchor", "positive", "negative"), ("sentence1", "sentence2", "score")


@pytest.fixture
def triplets(write):
    write("train.tsv", _PAIR, pairs(64, 0))
    write("dev.tsv", _PAIR[:2], [row[:2] for row in pairs(8, 1)])
    write("test.tsv", _SCORED, scored(10, 2))


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
    texts = [row[0] for row in scored(10, 2)], [row[1] for row in scored(10, 2)]
    tokenizer = load_tokenizer(out / "model")
    first, second = (model(tokenizer(column)).numpy() for column in texts)
    lines = (out / "test_results.tsv").read_text().splitlines()
    assert lines[0] == "index\tsimilarity"
    similarities = [float(line.split("\t")[1]) for line in lines[1:]]
    np.testing.assert_allclose(similarities, np.sum(first * second, 1), atol=1e-4)
    answers = Predictor(served)(texts[0])
    np.testing.assert_allclose([a["embedding"] for a in answers], first, atol=1e-5)


@pytest.fixture
def vectors(command_line, tmp_path):
    """Saves a model of vectors that pools [CLS]; returns its folder."""
    options = parse(SimilarityOptions, ["run", *command_line()])
    config = AlbertConfig.from_json_file(options.albert_config_file)
    task = Similarity(name="custom", pooling="cls", normalize=False)
    model = AlbertForTextEmbedding(config, "cls", normalize=False)
    tokenizer = load_tokenizer(options.vocab_file)
    info = {"task": task.to_dict(), "max_seq_length": 8}
    model.save_pretrained(tmp_path / "vectors", tokenizer, info)
    return tmp_path / "vectors"


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
    expected = Similarity(name="custom", pooling="cls", normalize=False)
    assert loss.get_config()["task"] == expected.to_dict()
    assert tokens.labels.tolist() == [[0, 1]]


@pytest.mark.slow
def test_a_run_goes_on_exactly(triplets, vectors, flags, continues_exactly):
    """With a teacher of its vectors."""
    settings = {"teacher": vectors, "gradient_accumulation_steps": 2}
    continues_exactly(flags, train_step=4, **settings)


@pytest.fixture
def asked(flags, monkeypatch):
    """Returns the task and the tables that flags would train, score or apply."""

    def found(**changes):
        given = []
        monkeypatch.setattr(run, "run_task", lambda *own: given.append(own) or {})
        flags(**changes)
        [(_, task, examples, *_)] = given
        return task, examples

    return found


def test_flags_make_the_task(triplets, asked, vectors):
    task, examples = asked(do_train=True)
    assert list(examples) == ["train", "dev"]
    assert task == Similarity(
        name="custom",
        loss="info_nce",
        temperature=0.05,
        scored=False,  # the dev set has no scores, whatever the test set has
    )
    assert asked(do_train=True, do_predict=True)[0] == task
    changes = {"temperature": 0.5, "symmetric": True, "dimensions": "4,16"}
    task, _ = asked(do_train=True, **changes, normalize=False)
    assert (task.temperature, task.symmetric, task.dimensions) == (0.5, True, (4, 16))
    assert (task.pooling, task.normalize) == ("mean", False)
    # A run starts with the pooling of its model.
    start = {"init_checkpoint": vectors, "from_scratch": None}
    task, _ = asked(do_train=True, **start)
    assert (task.pooling, task.normalize) == ("cls", False)
    task, _ = asked(do_train=True, **start, pooling="mean", normalize=True)
    assert (task.pooling, task.normalize) == ("mean", True)
    task, examples = asked(do_predict=True, **start, dimensions="4")
    assert (task.pooling, task.dimensions, list(examples)) == ("cls", (), ["test"])


@pytest.mark.slow
def test_texts_alone_are_learned(write, flags):
    write("train.tsv", ["text"], [[row[0]] for row in pairs(32, 0)])
    write("dev.tsv", _SCORED, scored(8, 1))
    run = {"loss": "simcse", "do_train": True, "train_step": 1}
    out = flags(**run, albert_dropout_prob=0.1)
    history = json.loads((out / "history.json").read_text())
    assert "spearman" in history[-1]


def test_sts_b_as_glue_publishes_it(write, asked, tmp_path):
    def numbered(rows):
        return [[str(i), a, b, str(5 * float(s))] for i, (a, b, s) in enumerate(rows)]

    (tmp_path / "data").mkdir()
    (tmp_path / "STS-B").mkdir()
    for name, rows in (("train", scored(16, 0)), ("dev", scored(8, 1))):
        write(f"../STS-B/{name}.tsv", ("index", *_SCORED), numbered(rows))
    run = {"task_name": "sts-b", "data_dir": tmp_path, "do_train": True}
    task, examples = asked(**run, loss="cosine")
    expected = [float(score) for *_, score in scored(16, 0)]
    assert (task.scored, examples["train"].labels.tolist()) == (True, expected)
    _, examples = asked(**run, loss="simcse", albert_dropout_prob=0.1)
    train = examples["train"]
    assert sorted(train.texts) == sorted({t for row in scored(16, 0) for t in row[:2]})
    assert train.text_pairs is None
    with pytest.raises(UserError, match="has scores, of which --loss=info_nce makes"):
        asked(**run)
    with pytest.raises(
        UserError, match="train.tsv: the score 5.0 is not a number from 0 to 4"
    ):
        asked(**run, loss="cosent", max_score=4.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimensions": "8,0"}, "--dimensions=8,0 are no sizes"),
        ({"teacher_distance": "squared"}, "--teacher_distance=squared needs --teacher"),
        ({"symmetric": True, "loss": "cosent"}, "--symmetric is for --loss=info_nce"),
    ],
)
def test_flags_that_do_not_fit(command_line, changes, message):
    options = parse(SimilarityOptions, ["run", *command_line(do_train=True, **changes)])
    with pytest.raises(UserError, match=message):
        run.check_flags(options)


@pytest.mark.slow
def test_texts_in_windows_are_pairs_of_windows(triplets, flags):
    windows = {"long_texts": "windows", "max_seq_length": 5, "train_step": 20}
    out = flags(do_train=True, do_predict=True, **windows)
    texts = [row[0] for row in scored(10, 2)], [row[1] for row in scored(10, 2)]
    first, second = map(text_embedder.TextEmbedder(out / "model").encode, texts)
    lines = (out / "test_results.tsv").read_text().splitlines()[1:]
    written = [float(line.split("\t")[1]) for line in lines]
    np.testing.assert_allclose(written, np.sum(first * second, 1), atol=1e-4)


def similarities(out):
    """The similarities that the command predicted."""
    lines = (out / "test_results.tsv").read_text().splitlines()
    return [float(line.split("\t")[1]) for line in lines[1:]]


@pytest.mark.slow
def test_a_prompt_is_learned_kept_and_applied(write, flags, tmp_path):
    rows = scored(6, 2)
    write("train.tsv", ("anchor", "positive"), [row[:2] for row in pairs(16, 0)])
    write("dev.tsv", ("anchor", "positive"), [row[:2] for row in pairs(4, 1)])
    write("test.tsv", ("sentence1", "sentence2", "score"), rows)
    out = flags(do_train=True, do_predict=True, train_step=1, prompt="the ")
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["prompts"] == {"default": "the "}
    embedder = albert_tf.TextEmbedder(out / "model")
    texts = [[row[place] for row in rows] for place in (0, 1)]

    def cosines(first, second):
        prompted = [
            [prompt + text for text in own]
            for prompt, own in zip((first, second), texts, strict=True)
        ]
        first, second = (embedder.encode(own, prompt="") for own in prompted)
        return np.sum(first * second, axis=1)

    np.testing.assert_allclose(similarities(out), cosines("the ", "the "), atol=1e-4)
    # Another prompt, in evaluation alone, and one for each side.
    out = flags(do_predict=True, prompt="mud is ")
    expected = cosines("mud is ", "mud is ")
    np.testing.assert_allclose(similarities(out), expected, atol=1e-4)
    two = {"prompts": {"query": "not ", "document": "very "}}
    albert_tf.TextEmbedder(out / "model", **two).save_pretrained(tmp_path / "two")
    start = {"init_checkpoint": tmp_path / "two", "from_scratch": None}
    asked = {**start, "prompt_name": "query,document", "output_dir": tmp_path / "o"}
    flags(do_predict=True, albert_config_file=None, vocab_file=None, **asked)
    expected = cosines("not ", "very ")
    found = similarities(tmp_path / "o")
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": "a", "prompt_name": "b"}, "Give either --prompt_name or --prompt"),
        ({"prompt_name": "query"}, "prompt_name='query': the model has no prompts"),
        ({"prompt_name": "a,b,c"}, "expected one name, or two"),
    ],
)
def test_prompts_that_do_not_fit(write, flags, changes, message):
    write("train.tsv", ("anchor", "positive"), [row[:2] for row in pairs(2, 0)])
    write("dev.tsv", ("anchor", "positive"), [row[:2] for row in pairs(2, 1)])
    with pytest.raises(UserError, match=message):
        flags(do_train=True, **changes)


def test_prompts_of_flags():
    options = parse(SimilarityOptions, ["run", "--output_dir=o", "--prompt_name=a,b"])
    task = run.Similarity(name="custom", prompts={"a": "x ", "b": "y "})
    assert run._prompted(task, options).row_prompts == ("x ", "y ")
