"""Teachers: whose outputs meet which rows, what is kept of them, who is refused."""

import dataclasses
import types

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.tasks.batching import TEACHER_LOGITS
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.distillation import taught
from albert_tf.tasks.multiple_choice.questions import ChoiceFile
from albert_tf.tasks.multiple_choice.questions import Question as Choice
from albert_tf.tasks.question_answering.questions import Answer
from albert_tf.tasks.question_answering.questions import Paragraph
from albert_tf.tasks.question_answering.questions import Question
from albert_tf.tasks.question_answering.questions import QuestionFile
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.similarity.task import vectors_of_width
from albert_tf.tasks.tables import Table
from albert_tf.tasks.tagging.schemes import IOB2
from albert_tf.tasks.tagging.sentences import TagFile
from albert_tf.tasks.tagging.sentences import sentence_of_words
from albert_tf.tasks.training import prepare
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

pytestmark = pytest.mark.slow
_RANDOM = np.random.default_rng(3)
_WORDS = [list(_RANDOM.choice(list("abcdefgh"), n)) for n in (3, 9, 1, 5, 7, 2, 6)]
_TEXTS = [" ".join(words) for words in _WORDS]
_LENGTH = 12


def table(labels):
    return Table("train.tsv", _TEXTS, None, labels, np.arange(7), role="train")


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
    answers = [() if i % 2 else (Answer(own[0], 0),) for i, own in enumerate(_WORDS)]
    found = [Question(str(i), "a", own, not own) for i, own in enumerate(answers)]
    paragraphs = map(Paragraph, _TEXTS, [(question,) for question in found])
    return QuestionFile("train.json", tuple(paragraphs), role="train")


ONE = np.array([0, 1, 0, 2, 1, 0, 1], np.int32)
CASES = {
    "single_label": ({"labels": ("x", "y", "z")}, lambda: table(ONE)),
    "multiple_choice": ({"max_qa_length": 4}, choices),
    "similarity": (
        {"loss": "cosine"},
        lambda: dataclasses.replace(
            table(np.float32(ONE / 2)), text_pairs=_TEXTS[::-1]
        ),
    ),
    "tagging": ({"labels": ("O", "B-x"), "doc_stride": 4}, sentences),
    "squad_v2": (
        {"doc_stride": 3, "max_query_length": 2, "start_n_top": 2, "end_n_top": 1},
        questions,
    ),
}


def given(kind):
    """Returns a task and its examples."""
    fields, read = CASES[kind]
    return create_task(kind, "t", **fields), read()


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


@pytest.mark.parametrize("kind", CASES)
def test_each_row_meets_the_teachers_outputs_for_it(kind, letters, teacher, learn):
    _check_outputs(kind, letters(), teacher, learn)


def test_each_row_meets_the_outputs_of_xlnet(
    xlnet_pieces, xlnet_config, teacher, learn
):
    tokenizer = SentencePieceTokenizer(xlnet_pieces("a b c d e f g h ?"))
    config = xlnet_config(n_token=tokenizer.vocab_size, n_layer=1, d_head=8)
    tokenizer = tokenizer.laid_out(config.row_layout)
    _check_outputs("squad_v2", tokenizer, teacher, learn, config=config)


def _check_outputs(kind, tokenizer, teacher, learn, **changes):
    task, examples = given(kind)
    directory, model = teacher(task, tokenizer, **changes)
    width = model.config.hidden_size
    prepared, _ = learn(directory, task, examples, tokenizer, width=width)
    for batch in training_dataset(prepared.tokens, 4, _LENGTH, seed=1).take(2):
        own = task.distilled(task.objective().outputs(model, batch, False, None))
        apart = task.distances(own, batch[TEACHER_LOGITS], 2.0).numpy()
        if apart.ndim == 2:  # of tokens
            apart = apart * batch["input_mask"].numpy()
        np.testing.assert_allclose(apart, 0 * apart, atol=1e-4)
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


def test_what_was_computed_is_kept(letters, teacher, learn, monkeypatch):
    task, examples = given("single_label")
    directory, _ = teacher(task, letters())
    prepared, fact = learn(directory, task, examples, letters())
    module = "albert_tf.tasks.distillation.Teacher._compute"
    with monkeypatch.context() as patch:
        patch.setattr(module, None)
        again, same = learn(directory, task, examples, letters())
    np.testing.assert_array_equal(again.tokens.teacher, prepared.tokens.teacher)
    assert fact == same
    # Another model in the same folder is another teacher.
    teacher(task, letters())
    other, changed = learn(directory, task, examples, letters())
    assert changed != fact
    assert np.abs(other.tokens.teacher - prepared.tokens.teacher).max() > 1e-3


@pytest.mark.parametrize("kind", ["single_label", "multiple_choice"])
def test_texts_meet_where_vocabularies_differ(kind, letters, teacher, learn):
    task, examples = given(kind)
    directory, _ = teacher(task, letters())
    expected, _ = learn(directory, task, examples, letters())
    prepared, _ = learn(directory, task, examples, letters("?hgfedcba"), 8)
    assert prepared.tokens.lengths.max() == 8
    np.testing.assert_allclose(prepared.tokens.teacher, expected.tokens.teacher)


@pytest.mark.parametrize(
    ("kind", "own", "message"),
    [
        ("regression", {}, "fine-tuned for regression, but the task"),
        ("single_label", {"labels": ("x", "y")}, "predicts x, y, but the task t has"),
    ],
)
def test_a_teacher_of_something_else_is_refused(
    kind, own, message, letters, teacher, learn
):
    directory, _ = teacher(create_task(kind, "t", **own), letters())
    with pytest.raises(UserError, match=message):
        learn(directory, *given("single_label"), letters())


def test_tokens_are_compared_with_the_same_tokens_only(letters, teacher, learn):
    task, examples = given("tagging")
    directory, _ = teacher(task, letters(), max_position_embeddings=12)
    with pytest.raises(UserError, match="another vocabulary than the model, but tagg"):
        learn(directory, task, examples, letters("?hgfedcba"))
    with pytest.raises(UserError, match="fewer positions than --max_seq_length=13"):
        learn(directory, task, examples, letters(), 13)
    other = dataclasses.replace(task, labels=("O", "B-y"))
    with pytest.raises(UserError, match="predicts O, B-x, but the task t has O"):
        learn(directory, other, examples, letters())


def test_a_model_without_a_task_is_refused(letters, tiny_config, learn, tmp_path):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "other", letters())
    with pytest.raises(UserError, match="was fine-tuned for no task that is known"):
        learn(tmp_path / "other", *given("single_label"), letters())
