"""Strings to entities in a SavedModel, as run_tagging.py."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.base import seeded
from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_text
from albert_tf.tasks.task import Prepared
from tests.serving.answers import some_at_night

pytestmark = pytest.mark.slow

_LENGTH = 12
_TEXTS = [
    "the film was very good .",
    "",
    " (a film), not good: it's a bad one... " * 12,  # several windows
    "a very   BAD plot\u2028我在film北京。 ",
    "\u200b it \u200b !?",  # words without a token
]
_LABELS = ("O", "B-A", "I-A", "B-B", "I-B")


@pytest.fixture(scope="module")
def tagger(opened):
    return opened("tagging")


@pytest.fixture(scope="module")
def predictor(tagger):
    return Predictor(tagger.folder)


def expected(task, model, tokenizer):
    """The entities that the command finds, a list of dicts for each text."""
    sentences = tuple(sentence_of_text("", text, None, None) for text in _TEXTS)
    examples = TagFile("texts", sentences, "spans")
    tokens = task.tokenize(examples, tokenizer, _LENGTH)
    outputs = OutputsPredictor(model, 3, _LENGTH)(tokens)
    return task.interpret(Prepared(examples, tokens), outputs)[-1]


def check(answers, found):
    """Compares outputs `[texts, entities]` with lists of (label, start, end, score)."""
    assert sum(map(len, found)) > 4
    for row, (text, entities) in enumerate(zip(_TEXTS, found, strict=True)):
        size = len(entities)
        assert not any(answers["label"][row, size:])
        own = {name: values[row, :size].tolist() for name, values in answers.items()}
        assert own["label"] == [entity[0] for entity in entities]
        assert own["start"] == [entity[1] for entity in entities]
        assert own["end"] == [entity[2] for entity in entities]
        assert own["entity"] == [text[start:end] for _, start, end, _ in entities]
        scores = [entity[3] for entity in entities]
        np.testing.assert_allclose(own["score"], scores, atol=1e-5)


_OF_SHORT = ("S-A", "B-A", "I-A", "E-A", "O")


@pytest.mark.parametrize(
    ("its_tokenizer", "fields"),
    [
        ("tiny_tokenizer", {"scheme": "iob1", "decoder": "legal"}),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                ("english", {"labels": _OF_SHORT, "decoder": "legal"}),
                ("chinese", {}),
                ("tiny_tokenizer", {"labels": ("NN", "O", "B-VB"), "scheme": "plain"}),
            )
        ),
    ],
)
def test_answers_are_those_of_the_command(
    its_tokenizer, fields, family_config, request, tmp_path
):
    tokenizer = request.getfixturevalue(its_tokenizer)
    fields = {"labels": _LABELS, "doc_stride": 4, **fields}
    task = create_task("tagging", "custom", **fields)
    with seeded(3):
        model = task.model_class(family_config("albert", tokenizer), len(task.labels))
    weights = model.classifier.output_weights
    weights.assign(weights * 40)  # so that different inputs differ visibly
    info = {"max_seq_length": _LENGTH, "task": task.to_dict()}
    model.save_pretrained(tmp_path, tokenizer, info)
    predictor = Predictor(tmp_path)
    assert predictor.inputs == ("text",)
    found = expected(task, model, tokenizer)
    check(predictor.arrays(_TEXTS, batch_size=3), found)
    for text, entities in zip(_TEXTS, found, strict=True):
        alone = predictor(text)["entities"]
        assert [e["start"] for e in alone] == [e[1] for e in entities]
        json.dumps(alone)


@pytest.mark.parametrize("optimize_for", some_at_night([None, "latency"], None))
def test_a_saved_model(optimize_for, tagger, export_of):
    version = export_of("tagging", optimize_for=optimize_for)
    found = expected(tagger.task, tagger.model, tagger.tokenizer)
    check(Predictor(version).arrays(_TEXTS, batch_size=5), found)
    assert (version / WARMUP_FILE).exists()
    assert "mean probability of the tags" in (version / "model_card.md").read_text()
    tokens = tf.saved_model.load(str(version)).signatures["tokens"]
    ids = tf.constant([[2, 5, 7, 3, 0], [2, 6, 9, 10, 3]])
    features = {
        "input_ids": ids,
        "input_mask": tf.cast(ids > 0, tf.int32),
        "segment_ids": tf.zeros_like(ids),
    }
    logits = tokens(**features)["logits"]
    np.testing.assert_allclose(logits[0, :4], tagger.model(features)[0, :4], atol=1e-4)


def test_limits_of_a_call(tagger, predictor, monkeypatch):
    """Answers are padded to the most of a text: a call parts what would be too many.

    Where one text has many more words than others, each is decoded alone.
    """
    texts = [*_TEXTS[-2:], "", *["a film"] * 14, "a film " * 9]
    together = predictor.arrays(texts)
    for name in ("requests.MOST_PADDED", "inputs.MOST_CHARACTERS"):
        monkeypatch.setattr(f"albert_tf.serving.{name}", 600)
    monkeypatch.setattr("albert_tf.serving.requests.MOST_CHARACTERS", 200)
    monkeypatch.setattr("albert_tf.tasks.tagging.in_graph_entities._PADDED_WORDS", 5)
    limited = Predictor(tagger.folder)
    for name, values in limited.arrays(texts).items():
        if name == "score":
            np.testing.assert_allclose(values, together[name], atol=1e-6)
        else:
            np.testing.assert_array_equal(values, together[name])
    limited.signature(text=tf.constant(texts[9:]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="send that alone"):
        limited.signature(text=tf.constant(texts))
    with pytest.raises(UserError, match="^text has more than 200 characters in a"):
        limited("a film " * 30)


def test_requests_of_no_text_and_of_no_utf_8(predictor):
    empty = predictor.signature(text=tf.constant([], tf.string))
    assert empty["label"].shape == (0, 0)
    bad = predictor.signature(text=tf.constant([b"a film\xff"]))
    assert bad["start"].shape[0] == 1


def test_a_model_that_does_not_say_what_its_tags_are(opened, tmp_path):
    served = opened("tagging")
    model, tokenizer = served.model, served.tokenizer
    model.labels = None
    model.save_pretrained(tmp_path, tokenizer, {})
    with pytest.raises(UserError, match="does not say what its outputs mean"):
        build_module([bundle.open(tmp_path)])
