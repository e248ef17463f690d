"""Teachers: distances to their outputs, which rows these meet, who is refused."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import log_softmax

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.objectives.distillation import softmax_distances
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.batching import TEACHER_LOGITS
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.distillation import taught
from albert_tf.tasks.distillation import with_teacher
from albert_tf.tasks.multiple_choice.questions import ChoiceFile
from albert_tf.tasks.multiple_choice.questions import Question as Choice
from albert_tf.tasks.question_answering import questions as squad
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.similarity.task import vectors_of_width
from albert_tf.tasks.tables import Table
from albert_tf.tasks.tagging.schemes import IOB2
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.training import prepare
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

_RANDOM = np.random.default_rng(7)
OWN, TEACHER = (_RANDOM.normal(size=(4, 3)).astype(np.float32) for _ in range(2))
WIDE, TAUGHT = (_RANDOM.normal(size=(4, 6, 3)).astype(np.float32) for _ in range(2))
LABELS = np.array([0, 2, 1, 1], np.int32)


def divergence(own, teacher, temperature):
    both = (np.float64(logits) / temperature for logits in (own, teacher))
    own, teacher = (log_softmax(logits, axis=-1) for logits in both)
    return temperature**2 * (np.exp(teacher) * (teacher - own)).sum(-1)


def of_yes_and_no(own, teacher, temperature):
    both = (np.stack([x, np.zeros_like(x)], -1) for x in (own, teacher))
    return divergence(*both, temperature)


def cosines(own, teacher):
    lengths = np.linalg.norm(own, axis=-1) * np.linalg.norm(teacher, axis=-1)
    return (own * teacher).sum(-1) / lengths


def of_sides(own, teacher, temperature):
    """Of starts and ends, `[B, T, 2]`."""
    pairs = ((own[..., i], teacher[..., i]) for i in (0, 1))
    return sum(divergence(*pair, temperature) / 2 for pair in pairs)


FIELDS = {
    "single_label": {"labels": ("x", "y", "z")},
    "multi_label": {"labels": ("x", "y", "z")},
    "multiple_choice": {"max_qa_length": 4},
    "similarity": {"loss": "cosine"},
    "similarity, squared": {"teacher_distance": "squared"},
    "tagging": {"labels": ("O", "B-x", "I-x"), "doc_stride": 4},
    "squad_v2": {"doc_stride": 3, "max_query_length": 2, "start_n_top": 2},
}


def task_of(kind):
    return create_task(kind.partition(",")[0], "t", **FIELDS.get(kind, {}))


# Of each kind of task: logits, and the reference.
CASES = {
    "single_label": (OWN, TEACHER, divergence),
    "multi_label": (OWN, TEACHER, lambda *x: of_yes_and_no(*x).mean(-1)),
    "regression": (OWN[:, :1], TEACHER[:, :1], lambda a, b, _: ((a - b) ** 2)[:, 0]),
    # The batch has three options at most, the training set has four.
    "multiple_choice": (
        OWN,
        np.pad(TEACHER, [[0, 0], [0, 1]], constant_values=-1e9),
        lambda own, teacher, t: divergence(own, teacher[:, :3], t),
    ),
    "tagging": (WIDE, TAUGHT, divergence),
    # Vectors of six texts.
    "similarity": (WIDE, TAUGHT, lambda *x: 1 - cosines(*x[:2]).mean(-1)),
    "similarity, squared": (
        WIDE,
        TAUGHT,
        lambda own, teacher, _: np.square(own - teacher).sum(-1).mean(-1),
    ),
    "squad_v1": (WIDE[..., :2], TAUGHT[..., :2], of_sides),
    "squad_v2": (
        WIDE,
        TAUGHT,
        lambda own, teacher, t: (
            of_sides(own[..., :2], teacher[..., :2], t)
            + of_yes_and_no(own[:, 0, 2], teacher[:, 0, 2], t) / 2
        ),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_distances_equal_numpy(kind):
    own, teacher, reference = CASES[kind]
    for temperature in (1.0, 3.0):
        found = task_of(kind).distances(tf.constant(own), teacher, temperature)
        expected = reference(own, teacher, temperature)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    if kind == "squad_v1":
        outputs = {"end_logits": own[..., 1], "start_logits": own[..., 0]}
        np.testing.assert_array_equal(task_of(kind).distilled(outputs), own)


@pytest.mark.parametrize("width", [2, 4, 6])
def test_vectors_of_another_width_keep_their_cosines(width):
    """As far as there is room: they lie in a plane of four dimensions."""
    plane, _ = np.linalg.qr(_RANDOM.normal(size=(4, 2)))
    vectors = np.float32(_RANDOM.normal(size=(5, 3, 2)) @ plane.T)
    found = vectors_of_width(vectors, width)
    assert (found.shape, found.dtype) == ((5, 3, width), np.float32)
    of_both = (cosines(own[:, :2], own[:, 1:]) for own in (found, vectors))
    np.testing.assert_allclose(*of_both, atol=1e-5)


@pytest.mark.parametrize("masked", [-1e30, -1e9])
def test_what_neither_sees_changes_nothing(masked):
    hidden = np.full((4, 2), masked, np.float32)
    own, teacher = (np.concatenate([x, hidden], 1) for x in (OWN, TEACHER))
    logits = tf.constant(own)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        found = softmax_distances(logits, teacher, 2.0)
    np.testing.assert_allclose(found, divergence(OWN, TEACHER, 2.0), rtol=1e-5)
    gradient = tape.gradient(found, logits).numpy()
    assert np.isfinite(gradient).all() and not gradient[:, 3:].any()


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_the_teacher_has_a_share_of_the_loss(weight):
    """And padded rows have none; layers that may answer learn by depth."""
    task = task_of("single_label")
    flags = types.SimpleNamespace(teacher_weight=weight, teacher_temperature=2.0)
    plain = task.objective()
    objective = with_teacher(plain, task, flags)
    weights = np.array([1, 0, 1, 1], np.float32)
    batch = {name: tf.ones([4, 2], tf.int32) for name in FEATURES}
    batch |= {"labels": LABELS, "example_weights": weights, TEACHER_LOGITS: TEACHER}
    losses, _ = objective(lambda *_, **__: tf.constant(OWN), batch, True, None)
    assert objective.loss_terms == ("classification", "teacher")
    of_labels = -log_softmax(OWN, axis=1)[np.arange(4), LABELS]
    totals = objective.denominators(batch)
    found = sum(objective.scales[n] * losses[n] / totals[n] for n in losses)
    both = (1 - weight) * of_labels + weight * divergence(OWN, TEACHER, 2.0)
    np.testing.assert_allclose(found, (both * weights).sum() / 3, rtol=1e-5)
    assert plain.scales == {"classification": 1.0}  # as it was
    of_exits = dataclasses.replace(task, early_exit=object())
    term = with_teacher(plain, of_exits, flags).terms[-1]
    outputs = tf.stack([OWN, 2 * OWN], axis=1)  # [B, layers, L]
    batch = {"input_ids": tf.ones([4, 2], tf.int32), TEACHER_LOGITS: TEACHER}
    first, second = (divergence(own, TEACHER, 2.0).sum() for own in (OWN, 2 * OWN))
    expected = (first + 2 * second) / 3
    np.testing.assert_allclose(term.sums(outputs, batch)[0], expected, rtol=1e-5)


_WORDS = [list(_RANDOM.choice(list("abcdefgh"), n)) for n in (3, 9, 1, 5, 7, 2, 6)]
_TEXTS = [" ".join(words) for words in _WORDS]
_LENGTH = 12


def table(labels, pairs=None):
    return Table("train.tsv", _TEXTS, pairs, labels, np.arange(7), role="train")


def choices():
    labels = [0, 1, 0, 2, 1, 0, 1]
    questions = [
        Choice(str(i), text, "a ?", tuple("bcd"[: labels[i] + 1 + i % 2]), labels[i])
        for i, text in enumerate(_TEXTS)
    ]
    return ChoiceFile("train.jsonl", tuple(questions), role="train")


def sentences():
    tags = [["B-x"] + ["O"] * (len(words) - 1) for words in _WORDS]
    found = map(sentence_of_words, "abcdefg", _WORDS, tags, [None] * 7, [IOB2] * 7)
    return TagFile("train.conll", tuple(found), "conll", role="train")


def questions():
    answers = [(squad.Answer(own[0], 0),) * (1 - i % 2) for i, own in enumerate(_WORDS)]
    impossible = [not own for own in answers]
    found = map(squad.Question, "0123456", "a" * 7, answers, impossible)
    paragraphs = map(squad.Paragraph, _TEXTS, [(question,) for question in found])
    return squad.QuestionFile("train.json", tuple(paragraphs), role="train")


ONE = np.array([0, 1, 0, 2, 1, 0, 1], np.int32)
HALF = np.float32(ONE / 2)
EXAMPLES = {
    "single_label": lambda: table(ONE),
    "multiple_choice": choices,
    "similarity": lambda: table(HALF, _TEXTS[::-1]),
    "tagging": sentences,
    "squad_v2": questions,
}


def given(kind):
    """Returns a task and its examples."""
    return task_of(kind), EXAMPLES[kind]()


@pytest.fixture
def letters(vocabulary):
    """Makes a tokenizer of these letters."""
    return lambda pieces="abcdefgh?": WordPieceTokenizer(vocabulary(pieces).encode())


@pytest.fixture
def teacher(tiny_config, tmp_path):
    """Saves a random model of a task: (its folder, the model)."""

    def save(task, tokenizer, config=None, **changes):
        config = config or tiny_config(num_hidden_layers=1, **changes)
        classes = {f.config_class: own for f, own in task.model_classes().items()}
        model = classes[type(config)](config, **task.model_arguments())
        directory = tmp_path / "teacher"
        info = {"task": task.to_dict(), "max_seq_length": _LENGTH}
        model.save_pretrained(directory, tokenizer, info)
        return directory, model

    return save


@pytest.fixture
def learn(tmp_path):
    """Prepares examples and gives them a teacher's logits."""

    def run(directory, task, examples, tokenizer, length=_LENGTH, width=12):
        cache = tmp_path / "cache"
        prepared = prepare(task, "train", examples, tokenizer, length, cache)
        opened = bundle.open(directory)
        config = types.SimpleNamespace(hidden_size=width)
        return taught(opened, task, prepared, tokenizer, length, config, cache)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*EXAMPLES, "xlnet"])
def test_each_row_meets_the_teachers_outputs_for_it(
    kind, letters, xlnet_pieces, xlnet_config, teacher, learn
):
    tokenizer, config = letters(), None
    if kind == "xlnet":
        tokenizer = SentencePieceTokenizer(xlnet_pieces("a b c d e f g h ?"))
        config = xlnet_config(n_token=tokenizer.vocab_size, n_layer=1, d_head=8)
        tokenizer = tokenizer.laid_out(config.row_layout)
    task, examples = given("squad_v2" if config else kind)
    directory, model = teacher(task, tokenizer, config)
    width = model.config.hidden_size
    prepared, _ = learn(directory, task, examples, tokenizer, width=width)
    for batch in training_dataset(prepared.tokens, 4, _LENGTH, seed=1).take(2):
        own = task.distilled(task.objective().outputs(model, batch, False, None))
        expected, found = own.numpy(), batch[TEACHER_LOGITS].numpy()
        if task.by_token:
            real = batch["input_mask"].numpy() > 0
            assert (found[~real] == np.float32(-1e30)).all()
            found, expected = found[real], expected[real]
        if kind == "multiple_choice":
            found = found[:, : expected.shape[1]]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    if kind == "similarity":  # vectors take the width of the student
        narrow, _ = learn(directory, task, examples, tokenizer, width=8)
        expected = vectors_of_width(prepared.tokens.teacher, 8)
        np.testing.assert_array_equal(narrow.tokens.teacher, expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["single_label", "multiple_choice"])
def test_what_was_computed_is_kept_and_texts_meet(
    kind, letters, teacher, learn, monkeypatch
):
    task, examples = given(kind)
    directory, _ = teacher(task, letters())
    prepared, fact = learn(directory, task, examples, letters())
    expected = prepared.tokens.teacher
    with monkeypatch.context() as patch:
        patch.setattr("albert_tf.tasks.distillation.Teacher._compute", None)
        again, same = learn(directory, task, examples, letters())
    np.testing.assert_array_equal(again.tokens.teacher, expected)
    assert fact == same
    # Where vocabularies differ, texts meet.
    other, _ = learn(directory, task, examples, letters("?hgfedcba"), 8)
    assert other.tokens.lengths.max() == 8
    np.testing.assert_allclose(other.tokens.teacher, expected)
    # Another model in the same folder is another teacher.
    teacher(task, letters())
    other, changed = learn(directory, task, examples, letters())
    assert changed != fact
    assert np.abs(other.tokens.teacher - expected).max() > 1e-3


@pytest.mark.slow
def test_a_teacher_of_something_else_is_refused(
    letters, teacher, learn, tiny_config, tmp_path
):
    def refused(message, directory, task, examples, tokenizer=None, length=_LENGTH):
        with pytest.raises(UserError, match=message):
            learn(directory, task, examples, tokenizer or letters(), length)

    for kind, own, message in (
        ("regression", {}, "fine-tuned for regression, but the task"),
        ("single_label", {"labels": ("x", "y")}, "predicts x, y, but the task t has"),
    ):
        directory, _ = teacher(create_task(kind, "t", **own), letters())
        refused(message, directory, *given("single_label"))
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "other", letters())
    no_task = "was fine-tuned for no task that is known"
    refused(no_task, tmp_path / "other", *given("single_label"))
    # Tokens are compared with the same tokens only.
    task, examples = given("tagging")
    directory, _ = teacher(task, letters(), max_position_embeddings=12)
    tagging, other = (directory, task, examples), letters("?hgfedcba")
    refused("another vocabulary than the model, but tagg", *tagging, other)
    refused("fewer positions than --max_seq_length=13", *tagging, length=13)
    other = dataclasses.replace(task, labels=("O", "B-y"))
    refused("predicts O, B-x, I-x, but the task t has O", directory, other, examples)
