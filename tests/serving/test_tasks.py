"""Questions, choices and tags: a SavedModel answers strings as the commands do."""

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
from albert_tf.tasks import metrics
from albert_tf.tasks.multiple_choice import questions as choice_questions
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.question_answering import questions as paragraph_questions
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_text
from albert_tf.tasks.task import Prepared
from tests import memory
from tests.serving.answers import at_night
from tests.serving.answers import described
from tests.serving.answers import some_at_night

pytestmark = pytest.mark.slow

_LENGTH, _TAGGED = 20, 12  # tokens of a row; of tags, by `saved_model`, too
_V1, _V2 = "question_answering", "answerable_questions"


def predictions(task, model, tokenizer, examples, length=_LENGTH):
    """What the command makes of examples."""
    tokens = task.tokenize(examples, tokenizer, length)
    outputs = OutputsPredictor(model, 3, length, task.min_tokens)(tokens)
    return task.interpret(Prepared(examples, tokens), outputs)


_ASKED = ["is it good ?", "", "what film was it and was the plot good ?", "not ?"]
_CONTEXTS = [
    "the film was very good .",
    "",
    "a film , not good . it is a bad one . " * 20,  # more windows than a group has
    "a very   BAD plot\u2028 and the film",
]


def expected_answers(served):
    questions = [paragraph_questions.Question(text, text) for text in _ASKED]
    pairs = zip(_CONTEXTS, questions, strict=True)
    paragraphs = [paragraph_questions.Paragraph(text, (own,)) for text, own in pairs]
    examples = paragraph_questions.QuestionFile("questions", tuple(paragraphs))
    return predictions(served.task, served.model, served.tokenizer, examples)


def check_answers(found, expected):
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
        bounds = zip(answers, found["start"][row], found["end"][row], strict=True)
        for answer, start, end in bounds:
            assert _CONTEXTS[row][start:end] == answer
    if expected[0].null_odds is not None:  # of version 2
        odds = [prediction.null_odds for prediction in expected]
        np.testing.assert_allclose(found["no_answer_score"], odds, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "optimize_for"),
    [
        (_V1, None),
        at_night(_V1, "latency"),
        at_night(_V2, "latency"),
        at_night(_V2, "throughput"),
    ],
)
def test_answers_to_questions(kind, optimize_for, opened, export_of):
    expected = expected_answers(opened(kind))
    version = export_of(kind, optimize_for=optimize_for)
    predictor = Predictor(version)
    for batch_size in (1, 4):
        found = predictor.arrays(_ASKED, _CONTEXTS, batch_size=batch_size)
        check_answers(found, expected)
    assert sum(bool(answer) for answer in found["answers"][:, 0]) >= 2
    facts = described(version)
    assert facts["serves"] == "question_answering"
    default = facts["signatures"]["serving_default"]
    assert set(default["inputs"]) == {"question", "context"}
    requests = tf.data.TFRecordDataset(str(version / WARMUP_FILE))
    first = next(iter(requests)).numpy()
    assert b"question" in first and b"context" in first


@pytest.mark.parametrize("kind", some_at_night([_V1, _V2], _V2))
def test_token_ids_give_what_the_model_of_questions_returns(kind, opened):
    """Few of them are enough."""
    served = opened(kind)
    module, _, _ = build_module([bundle.open(served.folder)])
    ids = tf.constant([[2, 9, 3, 3]])
    segments = tf.constant([[0, 0, 0, 1]])
    tokens = {"input_ids": ids, "input_mask": ids * 0 + 1, "segment_ids": segments}
    outputs = module.signatures()["tokens"](**tokens)
    padding = [[0, 0], [0, 2 if kind == _V2 else 0]]
    padded = {n: tf.pad(v, padding) for n, v in tokens.items()}
    for name, value in served.model(padded).items():
        np.testing.assert_allclose(outputs[name], value, atol=1e-4)


@pytest.mark.parametrize(
    ("threshold", "is_answered"), [(-1e6, False), at_night(None, True)]
)
def test_one_question_and_its_threshold(threshold, is_answered, opened, tmp_path):
    v2 = opened(_V2)
    info = {
        "max_seq_length": _LENGTH,
        "task": v2.task.to_dict(),
        "dev": {"null_score_diff_threshold": threshold} if threshold else {},
    }
    v2.model.save_pretrained(tmp_path, v2.tokenizer, info)
    _, served, _ = build_module([bundle.open(tmp_path)])
    assert (str(threshold) in served.task.meaning()["no_answer_score"]) != is_answered
    predictor = Predictor(tmp_path)
    assert predictor.inputs == ("question", "context")
    arrays = predictor.arrays(_ASKED, _CONTEXTS)
    check_answers(arrays, expected_answers(v2))
    row = int(np.argmax(arrays["answers"][:, 0] != ""))
    found = predictor(context=_CONTEXTS[row], question=_ASKED[row])
    told = [answer["answer"] for answer in found["answers"]]
    assert told == [*filter(None, arrays["answers"][row])]
    best = found["answers"][0]
    assert _CONTEXTS[row][best["start"] : best["end"]] == best["answer"]
    assert best["score"] == pytest.approx(arrays["scores"][row, 0], rel=1e-3)
    assert found["answer"] == (best["answer"] if is_answered else "")
    json.dumps(found)


def test_no_contexts_and_contexts_that_are_too_long(saved_model, monkeypatch):
    for place in ("requests", "inputs"):
        monkeypatch.setattr(f"albert_tf.serving.{place}.MOST_CHARACTERS", 60)
    predictor = Predictor(saved_model(_V1))
    # A limit of what is read at once, not of what a call takes.
    found = predictor(["is it good ?"] * 5, ["the film was very good ."] * 5)
    assert len({answer["answer"] for answer in found}) == 1
    with pytest.raises(UserError, match="^context has more than 60 characters in a"):
        predictor(["not ?"] * 2, ["the film .", "a film " * 9])
    # The question may be of any length: its end is not read.
    long, short = (predictor("is it good ? " * n, "the film .") for n in (99, 2))
    assert long == short
    empty = tf.constant([], tf.string)
    answers = predictor.signature(question=empty, context=empty)["answers"]
    assert answers.shape == (0, 3)


_OPTIONS = [
    ("the film was very good .", "was it _ ?", ("good", "bad", "it")),
    ("", "", ("good", "bad . very bad . not very good . a bad one .")),
    ("a film , not good . " * 20, "_ is __ _", (" good ", "a plot")),
    ("a very   BAD plot\u2028", "and the ＿", ("plot", "film", "it", "_")),
]


@pytest.fixture(scope="module")
def choices(opened):
    """A model of choices, and the module that serves it."""
    found = opened("multiple_choice")
    found.module, _, _ = build_module([bundle.open(found.folder)])
    return found


def choice_file(rows):
    questions = (choice_questions.Question("1", *row) for row in rows)
    return choice_questions.ChoiceFile("questions", tuple(questions))


def request(rows=_OPTIONS):
    most = max(len(options) for *_, options in rows)
    return {
        "question": tf.constant([text for _, text, _ in rows]),
        "context": tf.constant([context for context, *_ in rows]),
        "options": tf.constant([[*o, *[""] * (most - len(o))] for *_, o in rows]),
    }


@pytest.mark.parametrize(
    "optimize_for", some_at_night([None, "latency", "throughput"], "throughput")
)
def test_choices(optimize_for, choices, export_of):
    of_choices = choices.task, choices.model, choices.tokenizer
    probabilities = metrics.softmax(predictions(*of_choices, choice_file(_OPTIONS)))
    version = export_of("multiple_choice", optimize_for=optimize_for)
    signatures = tf.saved_model.load(str(version)).signatures
    assert set(signatures) == {"serving_default", "tokens"}
    serve, places = signatures["serving_default"], probabilities.argmax(axis=1)
    found = serve(**request())
    np.testing.assert_allclose(found["probabilities"], probabilities, atol=1e-5)
    assert found["choice"].numpy().tolist() == places.tolist()
    assert len(set(places.tolist())) > 1
    for row, (_, _, options) in enumerate(_OPTIONS):
        alone = serve(**request(_OPTIONS[row : row + 1]))["probabilities"][0]
        own = probabilities[row, : len(options)]
        np.testing.assert_allclose(alone, own, atol=1e-5)
    assert (version / WARMUP_FILE).exists()
    predictor = Predictor(version)
    assert predictor.inputs == ("question", "context", "options")
    alone = predictor("was it _ ?", "a film", ["good", "bad"])
    assert len(alone["probabilities"]) == 2
    contexts, texts, options = map(list, zip(*_OPTIONS, strict=True))
    answers = predictor(texts, contexts, options, batch_size=3)
    found = [answer["probabilities"] for answer in answers]
    np.testing.assert_allclose(found, probabilities, atol=1e-5)
    assert [answer["choice"] for answer in answers] == places.tolist()
    json.dumps(answers)
    for options in ([], ["", ""]):
        with pytest.raises(UserError, match="options must hold at least one str"):
            predictor("was it _ ?", "a film", options)


def test_options_are_left_out_anywhere(choices):
    answer, asked = choices.module.text_signature(), request(_OPTIONS[:1])
    whole = answer(**asked)["probabilities"].numpy()[0]
    options = tf.constant([["", "good", "", "bad", "it"]])
    found = answer(**{**asked, "options": options})
    places = found["probabilities"].numpy()[0]
    np.testing.assert_allclose(places, [0, whole[0], 0, *whole[1:]], atol=1e-6)
    assert found["choice"].numpy()[0] == places.argmax()
    asked, refused = request(_OPTIONS[:2]), tf.errors.InvalidArgumentError
    for options in ([["good"], [""]], tf.zeros([2, 0], tf.string)):
        with pytest.raises(refused, match="A question has no options"):
            answer(**{**asked, "options": tf.constant(options)})
    with pytest.raises(refused, match="differ in number"):
        answer(**{**asked, "options": tf.constant([["good"]])})
    empty = dict.fromkeys(("question", "context"), tf.zeros([0], tf.string))
    for size in (0, 2):
        found = answer(**empty, options=tf.zeros([0, size], tf.string))
        assert found["choice"].shape == (0,)


def test_only_the_last_tokens_of_long_questions_and_options_count(choices):
    """Of texts many times as long as what is read."""
    asked = [
        ("it is", "was it _ ? " + "very good . " * 400, ("good", "bad")),
        ("it is", "very good . " * 400 + "was it _ ?", ("good", "bad")),
        ("it is", "was it", ("good . " * 800 + "bad", "bad")),
        ("it is", "_ . " * 900, ("good bad " * 300, "bad")),
    ]
    features = choices.module.text_features(**request(asked))
    tokens = choices.task.tokenize(choice_file(asked), choices.tokenizer, _LENGTH)
    for place in np.ndindex(4, 2):
        start, length = tokens.starts[place], tokens.lengths[place]
        row = features["input_ids"][place].numpy()
        np.testing.assert_array_equal(row[:length], tokens.ids[start : start + length])


def test_long_questions_are_cheap(choices):
    # All options in all blanks would be a gigabyte.
    blanks = ("it is", "_ " * 100_000, ("good bad " * 1000, "bad"))
    features = choices.module.text_features
    assert features(**request([blanks]))["input_ids"].shape[2] <= _LENGTH
    # This question is a megabyte.
    many = ("good", "bad", "it") * 100
    asked = request([("it is", "was it " * 140_000, many)])
    assert memory.added(lambda: features(**asked)) < 150


_TEXTS = [
    "the film was very good .",
    "",
    " (a film), not good: it's a bad one... " * 12,  # several windows
    "a very   BAD plot\u2028我在film北京。 ",
    "\u200b it \u200b !?",  # words without a token
]
_LABELS = ("O", "B-A", "I-A", "B-B", "I-B")
_OF_SHORT = ("S-A", "B-A", "I-A", "E-A", "O")


def expected_entities(task, model, tokenizer):
    """The entities that the command finds, a list of tuples for each text."""
    sentences = tuple(sentence_of_text("", text, None, None) for text in _TEXTS)
    examples = TagFile("texts", sentences, "spans")
    return predictions(task, model, tokenizer, examples, _TAGGED)[-1]


def check_entities(answers, found):
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


@pytest.mark.parametrize(
    ("its_tokenizer", "fields"),
    [
        ("tiny_tokenizer", {"scheme": "iob1", "decoder": "legal"}),
        at_night("english", {"labels": _OF_SHORT, "decoder": "legal"}),
        at_night("chinese", {}),
        at_night("tiny_tokenizer", {"labels": ("NN", "O", "B-VB"), "scheme": "plain"}),
    ],
)
def test_entities(its_tokenizer, fields, family_config, request, tmp_path):
    tokenizer = request.getfixturevalue(its_tokenizer)
    fields = {"labels": _LABELS, "doc_stride": 4, **fields}
    task = create_task("tagging", "custom", **fields)
    with seeded(3):
        model = task.model_class(family_config("albert", tokenizer), len(task.labels))
    weights = model.classifier.output_weights
    weights.assign(weights * 40)  # so that different inputs differ visibly
    info = {"max_seq_length": _TAGGED, "task": task.to_dict()}
    model.save_pretrained(tmp_path, tokenizer, info)
    predictor = Predictor(tmp_path)
    assert predictor.inputs == ("text",)
    found = expected_entities(task, model, tokenizer)
    check_entities(predictor.arrays(_TEXTS, batch_size=3), found)
    for text, entities in zip(_TEXTS, found, strict=True):
        alone = predictor(text)["entities"]
        assert [e["start"] for e in alone] == [e[1] for e in entities]
        json.dumps(alone)


@pytest.mark.parametrize("optimize_for", some_at_night([None, "latency"], None))
def test_a_saved_model_of_tags(optimize_for, opened, export_of):
    tagger = opened("tagging")
    version = export_of("tagging", optimize_for=optimize_for)
    found = expected_entities(tagger.task, tagger.model, tagger.tokenizer)
    check_entities(Predictor(version).arrays(_TEXTS, batch_size=5), found)
    assert (version / WARMUP_FILE).exists()
    tokens = tf.saved_model.load(str(version)).signatures["tokens"]
    ids = tf.constant([[2, 5, 7, 3, 0], [2, 6, 9, 10, 3]])
    mask = tf.cast(ids > 0, tf.int32)
    features = {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * ids}
    logits = tokens(**features)["logits"]
    np.testing.assert_allclose(logits[0, :4], tagger.model(features)[0, :4], atol=1e-4)


def test_limits_of_a_call_for_tags(saved_model, monkeypatch):
    """Answers are padded to the most of a text: a call parts what would be too many.

    Where one text has many more words than others, each is decoded alone.
    """
    texts = [*_TEXTS[-2:], "", *["a film"] * 14, "a film " * 9]
    predictor = Predictor(saved_model("tagging"))
    together = predictor.arrays(texts)
    empty = predictor.signature(text=tf.constant([], tf.string))
    assert empty["label"].shape == (0, 0)
    no_utf_8 = predictor.signature(text=tf.constant([b"a film\xff"]))
    assert no_utf_8["start"].shape[0] == 1
    for name in ("requests.MOST_PADDED", "inputs.MOST_CHARACTERS"):
        monkeypatch.setattr(f"albert_tf.serving.{name}", 600)
    monkeypatch.setattr("albert_tf.serving.requests.MOST_CHARACTERS", 200)
    monkeypatch.setattr("albert_tf.tasks.tagging.in_graph_entities._PADDED_WORDS", 5)
    limited = Predictor(saved_model("tagging"))
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
