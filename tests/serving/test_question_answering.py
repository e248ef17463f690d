"""Strings to answers in a SavedModel, as run_squad.py, whatever the lengths."""

import functools
import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from tests import memory

_LENGTH = 20
_QUESTIONS = ["is it good ?", "", "what film was it and was the plot good ?", "not ?"]
_CONTEXTS = [
    "the film was very good .",
    "",
    "a film , not good . it is a bad one . " * 20,  # more windows than a group has
    "a very   BAD plot\u2028 and the film",
]
_SETTINGS = {
    "squad_v1": {"n_best_size": 6, "max_answer_length": 4},
    "squad_v2": {"start_n_top": 4, "end_n_top": 6, "n_best_size": 8},
}


@pytest.fixture(scope="module")
def squad(tmp_path_factory, tiny_tokenizer):
    """Makes a random model of a kind: (directory, model, task); each once."""

    @functools.cache
    def make(kind):
        return saved(tmp_path_factory.mktemp(kind), tiny_tokenizer, kind)

    return make


def saved(folder, tokenizer, kind, with_info=True):
    task = create_task(
        kind, "squad", doc_stride=5, max_query_length=6, **_SETTINGS[kind]
    )
    config = AlbertConfig(
        vocab_size=tokenizer.vocab_size,
        embedding_size=8,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    keras.utils.set_random_seed(5)
    model = task.model_class(config, **task.model_arguments())
    info = {"max_seq_length": _LENGTH, "task": task.to_dict()}
    info["dev"] = {"null_score_diff_threshold": -1.25}
    model.save_pretrained(folder / "model", tokenizer, info if with_info else None)
    return folder / "model", model, task


def predictions(model, task, tokenizer):
    """Predicts as the command does."""
    paragraphs = tuple(
        Paragraph(context, (Question(str(i), question),))
        for i, (question, context) in enumerate(zip(_QUESTIONS, _CONTEXTS, strict=True))
    )
    examples = QuestionFile("questions", paragraphs)
    tokens = task.tokenize(examples, tokenizer, _LENGTH)
    outputs = OutputsPredictor(model, 4, _LENGTH, task.min_tokens)(tokens)
    return task.interpret(Prepared(examples, tokens), outputs)


def check(found, expected):
    for row, prediction in enumerate(expected):
        candidates = [c for c in prediction.candidates if c.start_score > -1e5]
        if [c.text for c in candidates] == ["empty"]:
            candidates = []
        candidates = candidates[:3]
        filling = [""] * (3 - len(candidates))
        answers = found["answers"][row].tolist()
        assert answers == [c.text for c in candidates] + filling
        shares = prediction.probabilities()[: len(candidates)]
        own = found["scores"][row][: len(candidates)]
        np.testing.assert_allclose(own, shares, rtol=1e-3)
        for answer, start, end in zip(
            answers, found["start"][row], found["end"][row], strict=True
        ):
            assert _CONTEXTS[row][start:end] == answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "optimize_for"),
    [
        ("squad_v1", None),
        ("squad_v2", "latency"),
        pytest.param("squad_v2", "throughput", marks=pytest.mark.nightly),
    ],
)
def test_answers_are_those_of_the_command(
    kind, optimize_for, squad, tiny_tokenizer, tmp_path
):
    directory, model, task = squad(kind)
    expected = predictions(model, task, tiny_tokenizer)
    version = export(
        ExportOptions(
            str(directory), str(tmp_path / "served"), optimize_for=optimize_for
        )
    )
    predictor = Predictor(tmp_path / "served")
    for batch_size in (1, 4):
        found = predictor.arrays(_QUESTIONS, _CONTEXTS, batch_size=batch_size)
        check(found, expected)
        if kind == "squad_v2":
            odds = [prediction.null_odds for prediction in expected]
            np.testing.assert_allclose(found["no_answer_score"], odds, rtol=1e-3)
    assert sum(bool(answer) for answer in found["answers"][:, 0]) >= 2

    # Token ids give what the model returns, and few of them are enough.
    loaded = tf.saved_model.load(str(version))
    ids = tf.constant([[2, 9, 3, 3]])
    segments = tf.constant([[0, 0, 0, 1]])
    tokens = {"input_ids": ids, "input_mask": ids * 0 + 1, "segment_ids": segments}
    outputs = loaded.signatures["tokens"](**tokens)
    width = 4 if kind == "squad_v1" else 6
    padded = {n: tf.pad(v, [[0, 0], [0, width - 4]]) for n, v in tokens.items()}
    for name, value in model(padded).items():
        np.testing.assert_allclose(outputs[name], value, atol=1e-4)

    description = json.loads((version / "signature.json").read_text())
    assert description["serves"] == "question_answering"
    default = description["signatures"]["serving_default"]
    assert set(default["inputs"]) == {"question", "context"}
    meaning = default["outputs"]["no_answer_score"]["meaning"]
    assert ("-1.25" in meaning) == (kind == "squad_v2")
    requests = tf.data.TFRecordDataset(str(pathlib.Path(version) / WARMUP_FILE))
    first = next(iter(requests)).numpy()
    assert b"question" in first
    assert b"context" in first


def test_a_model_without_a_task_answers_with_the_official_defaults(
    tiny_tokenizer, tmp_path
):
    for kind in ("squad_v1", "squad_v2"):
        place = tmp_path / kind
        directory, _, _ = saved(place, tiny_tokenizer, kind, with_info=False)
        with pytest.raises(UserError, match="no room for a paragraph beside"):
            # 32 positions, but questions of 64 tokens
            build_module([bundle.open(directory)])


@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "is_answered"), [(None, True), (-1e6, False)])
def test_one_question_and_its_threshold(
    threshold, is_answered, squad, tiny_tokenizer, tmp_path
):
    _, model, task = squad("squad_v2")
    info = {"max_seq_length": _LENGTH, "task": task.to_dict()}
    info["dev"] = {"null_score_diff_threshold": threshold} if threshold else {}
    model.save_pretrained(tmp_path, tiny_tokenizer, info)
    predictor = Predictor(tmp_path)
    assert predictor.inputs == ("question", "context")
    arrays = predictor.arrays(_QUESTIONS, _CONTEXTS)
    row = int(np.argmax(arrays["answers"][:, 0] != ""))
    found = predictor(context=_CONTEXTS[row], question=_QUESTIONS[row])
    best = found["answers"][0]
    assert best["answer"] == arrays["answers"][row, 0]
    assert _CONTEXTS[row][best["start"] : best["end"]] == best["answer"]
    assert best["score"] == pytest.approx(arrays["scores"][row, 0], rel=1e-3)
    assert found["answer"] == (best["answer"] if is_answered else "")
    assert [a["answer"] for a in found["answers"]] == [
        answer for answer in arrays["answers"][row] if answer
    ]
    json.dumps(found)


@pytest.mark.slow
def test_an_empty_batch(squad):
    directory, _, _ = squad("squad_v1")
    module, served, _ = build_module(
        [bundle.open(directory)], task="question_answering"
    )
    assert served.task.serves == "question_answering"
    empty = tf.constant([], tf.string)
    assert module.text_signature()(question=empty, context=empty)["answers"].shape == (
        0,
        3,
    )


def test_contexts_that_are_too_long(squad, monkeypatch):
    for place in ("requests", "inputs"):
        monkeypatch.setattr(f"albert_tf.serving.{place}.MOST_CHARACTERS", 60)
    predictor = Predictor(squad("squad_v1")[0])
    # A limit of what is read at once, not of what a call takes.
    found = predictor(["is it good ?"] * 5, ["the film was very good ."] * 5)
    assert len({answer["answer"] for answer in found}) == 1
    with pytest.raises(UserError, match="^context has more than 60 characters in a"):
        predictor(["not ?"] * 2, ["the film .", "a film " * 9])
    # The question may be of any length: its end is not read.
    assert predictor("is it good ? " * 99, "the film .") == predictor(
        "is it good ? is it good ?", "the film ."
    )


@pytest.mark.slow
def test_memory_of_a_long_context(squad):
    predictor = Predictor(squad("squad_v1")[0])
    predictor("not ?", "the film .")
    columns = ["not ?"] * 8, ["the film ."] * 7 + [_CONTEXTS[0] * 1600]
    # A copy for each candidate is a gigabyte.
    assert memory.added(lambda: predictor.arrays(*columns)) < 300


def test_a_head_shared_with_classifiers_is_refused(squad, tmp_path):
    source = squad("squad_v1")[0]
    both = [shutil.copytree(source, tmp_path / name) for name in ("one", "two")]
    with pytest.raises(UserError, match="cannot share its encoder"):
        build_module([*map(bundle.open, both)])
    options = ExportOptions(
        str(source), str(tmp_path / "m"), format="tflite", eval_file="dev.json"
    )
    with pytest.raises(UserError, match="--eval_file compares models that take"):
        export(options)
