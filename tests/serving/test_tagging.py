"""Strings to entities in a SavedModel, as run_tagging.py."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.serving.loading import build_module
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_text
from albert_tf.tasks.task import Prepared
from tests import memory
from tests.serving.answers import some_at_night

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
def saved(tmp_path_factory, served_config):
    """Makes a random model: (its directory, its task, the model); each once."""
    made = {}

    def save(tokenizer, with_task=True, **fields):
        key = tokenizer.fingerprint(), with_task, *sorted(fields.items())
        if key not in made:
            directory = tmp_path_factory.mktemp("tagging") / "model"
            made[key] = make(directory, tokenizer, with_task, fields)
        return made[key]

    def make(directory, tokenizer, with_task, fields):
        fields = {"labels": _LABELS, "doc_stride": 4, **fields}
        task = create_task("tagging", "custom", **fields)
        config = served_config(tokenizer, initializer_range=0.2)
        keras.utils.set_random_seed(3)
        model = task.model_class(config, len(task.labels))
        weights = model.classifier.output_weights
        weights.assign(weights * 40)  # so that different inputs differ visibly
        info = {"max_seq_length": _LENGTH, "task": task.to_dict()}
        model.save_pretrained(directory, tokenizer, info if with_task else None)
        return directory, task, model

    return save


def expected(tokenizer, task, model, texts=_TEXTS):
    """The entities that the command finds, a list of dicts for each text."""
    sentences = tuple(sentence_of_text("", text, None, None) for text in texts)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vocabulary", "fields"),
    [
        ("tiny_tokenizer", {"scheme": "iob1", "decoder": "legal"}),
        ("english", {"labels": ("S-A", "B-A", "I-A", "E-A", "O"), "decoder": "legal"}),
        ("chinese", {}),
        pytest.param(
            "tiny_tokenizer",
            {"labels": ("NN", "O", "B-VB"), "scheme": "plain"},
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_answers_are_those_of_the_command(vocabulary, fields, saved, request):
    tokenizer = request.getfixturevalue(vocabulary)
    directory, task, model = saved(tokenizer, **fields)
    predictor = Predictor(directory)
    assert predictor.inputs == ("text",)
    found = expected(tokenizer, task, model)
    check(predictor.arrays(_TEXTS, batch_size=3), found)
    for text, entities in zip(_TEXTS, found, strict=True):
        alone = predictor(text)["entities"]
        assert [e["start"] for e in alone] == [e[1] for e in entities]
        json.dumps(alone)


@pytest.mark.slow
@pytest.mark.parametrize("optimize_for", some_at_night([None, "latency"], "latency"))
def test_a_saved_model(optimize_for, saved, tiny_tokenizer, tmp_path):
    directory, task, model = saved(tiny_tokenizer)
    served = tmp_path / "served"
    options = ExportOptions(str(directory), str(served), optimize_for=optimize_for)
    version = export(options)
    found = expected(tiny_tokenizer, task, model)
    check(Predictor(served).arrays(_TEXTS, batch_size=5), found)
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
    np.testing.assert_allclose(logits[0, :4], model(features)[0, :4], atol=1e-4)


def test_texts_that_are_too_long(saved, tiny_tokenizer, monkeypatch):
    monkeypatch.setattr("albert_tf.serving.requests.MOST_CHARACTERS", 60)
    predictor = Predictor(saved(tiny_tokenizer)[0])
    predictor(_TEXTS[0])
    with pytest.raises(UserError, match="^text has more than 60 characters in a"):
        predictor("a film " * 9)


@pytest.mark.slow
def test_a_long_text_beside_too_many_others(saved, tiny_tokenizer, monkeypatch):
    """Answers are padded to the most of a text: a call parts what would be too many."""
    directory = saved(tiny_tokenizer)[0]
    texts = ["a film"] * 20 + ["a film " * 9]
    together = Predictor(directory).arrays(texts)
    monkeypatch.setattr("albert_tf.serving.requests.MOST_PADDED", 600)
    monkeypatch.setattr("albert_tf.serving.inputs.MOST_CHARACTERS", 600)
    for name, values in Predictor(directory).arrays(texts).items():
        if name == "score":
            np.testing.assert_allclose(values, together[name], atol=1e-6)
        else:
            np.testing.assert_array_equal(values, together[name])
    served = build_module([bundle.open(directory)])[0].text_signature()
    served(text=tf.constant(texts[12:]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="send that alone"):
        served(text=tf.constant(texts))


@pytest.mark.slow
def test_memory_of_a_long_text(saved, tiny_tokenizer):
    predictor = Predictor(saved(tiny_tokenizer)[0])
    predictor("a film")
    texts = ["a film"] * 7 + [_TEXTS[0] * 1600]
    # What grows with the square of 40,000 characters takes a gigabyte.
    assert memory.added(lambda: predictor.arrays(texts)) < 300


def test_a_text_that_is_much_longer_than_others(saved, tiny_tokenizer, monkeypatch):
    directory, _, _ = saved(tiny_tokenizer, decoder="legal")
    together = Predictor(directory).arrays(_TEXTS)
    monkeypatch.setattr("albert_tf.tasks.tagging.in_graph_entities._PADDED_WORDS", 5)
    by_text = Predictor(directory).arrays(_TEXTS)
    for name, values in together.items():
        np.testing.assert_array_equal(by_text[name], values)


@pytest.mark.slow
def test_wrong_requests(saved, tiny_tokenizer):
    directory, _, _ = saved(tiny_tokenizer)
    module, served, _ = build_module([bundle.open(directory)])
    assert served.task.serves == "tagging"
    empty = module.text_signature()(text=tf.constant([], tf.string))
    assert empty["label"].shape == (0, 0)
    bad = module.text_signature()(text=tf.constant([b"a film\xff"]))
    assert bad["start"].shape[0] == 1


def test_a_model_that_does_not_say_what_its_tags_are(saved, tiny_tokenizer, tmp_path):
    directory, _, model = saved(tiny_tokenizer, with_task=False)
    with pytest.raises(UserError, match="does not say what its outputs mean"):
        build_module([bundle.open(directory)])
    assert (
        build_module([bundle.open(directory)], task="encoder")[1].task.serves
        == "encoder"
    )
    # That of another program names them.
    model.labels = _LABELS
    model.save_pretrained(tmp_path / "theirs", tiny_tokenizer, format="huggingface")
    found = Predictor(tmp_path / "theirs")("the film was very good .")["entities"]
    assert {entity["label"] for entity in found} <= {"A", "B"}
