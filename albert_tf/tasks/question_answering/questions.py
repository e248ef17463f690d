"""Questions on paragraphs with their answers, and their files.

Files have SQuAD's format, like SQuAD 1.1 and 2.0, CMRC 2018 and many others:

{"version": …, "data": [{"title": …, "paragraphs": [{"context": …, "qas": [
    {"id": …, "question": …, "is_impossible": false,
     "answers": [{"text": …, "answer_start": …}]}]}]}]}

`version`, `title`, `is_impossible` and `answers` are optional. The `datasets` package
writes one row per question, as JSON lines, a JSON list or Parquet:

{"id": …, "title": …, "context": …, "question": …,
 "answers": {"text": ["…"], "answer_start": [0]}}

There, empty lists mean that the question has no answer.
"""

import dataclasses
import re

from absl import logging

from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.io.table_rows import holds_objects
from albert_tf.io.table_rows import read_rows
from albert_tf.io.table_rows import suffix_of
from albert_tf.io.text_files import read_json_text
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of

_SURROGATE = re.compile("[\ud800-\udfff]")
MISPLACED = "an answer is not where its answer_start says"
UNANSWERED = "there is no answer, and is_impossible is not set"
BLANK_CONTEXT = "the paragraph has no visible text"
BLANK_QUESTION = "the question has no visible text"
BLANK_ANSWER = "an answer has no visible text"
_UNLEARNABLE = {
    MISPLACED: "correct answer_start",
    UNANSWERED: 'give "answers", or mark them with "is_impossible"',
    BLANK_ANSWER: "correct the text",
}
"""The remedy in training for each oddity that makes a question unusable."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer's text and its start in the paragraph, in characters."""

    text: str
    start: int

    def is_in(self, context):
        """Returns whether the paragraph has the text at the answer's start."""
        return self.start >= 0 and context.startswith(self.text, self.start)


@dataclasses.dataclass(frozen=True)
class Question:
    """A question; without answers if they are unknown or there are none."""

    id: str
    text: str
    answers: tuple = ()
    is_impossible: bool = False


@dataclasses.dataclass(frozen=True)
class Paragraph:
    """A paragraph with its questions."""

    context: str
    questions: tuple
    title: str = ""


@dataclasses.dataclass(frozen=True)
class QuestionFile(Examples):
    """The questions of one file.

    Attributes:
        paragraphs: its `Paragraph`s, a tuple.
    """

    paragraphs: tuple

    def __len__(self):
        return sum(len(paragraph.questions) for paragraph in self.paragraphs)

    @property
    def questions(self):
        """All `Question`s, in order."""
        return [q for paragraph in self.paragraphs for q in paragraph.questions]

    @property
    def contexts(self):
        """The text of each question's paragraph."""
        return [p.context for p in self.paragraphs for _ in p.questions]

    @property
    def impossible(self):
        """Number of questions marked as unanswerable."""
        return sum(question.is_impossible for question in self.questions)

    @property
    def version(self):
        """The SQuAD version: 2 if a question is marked as impossible, else 1."""
        return 2 if self.impossible else 1

    @property
    def is_training(self):
        """True if the questions are for training."""
        return self.role == "train"

    @property
    def is_labelled(self):
        return self.role != "test"

    def digest(self):
        return digest_of(self.paragraphs)

    def inputs_digest(self):
        return f"{self.digest()} {self.is_training}"  # training windows have answers

    def notices(self):
        """Lists question ids by oddity, in the form of `note`."""
        notices = {}
        for question, context in zip(self.questions, self.contexts, strict=True):
            for what in oddities(question, context):
                note(notices, what, question.id)
        return notices


def read_question_file(path):
    """Reads the `QuestionFile` of all questions in a file, whatever their role.

    Raises:
        UserError: the file is unreadable, not in SQuAD's format, or has no questions.
    """
    found = QuestionFile(str(path), tuple(read_paragraphs(path)))
    if not len(found):
        raise UserError(f"{path} holds no question.")
    return found


def question_file(found, version, role="dev", skip_bad_rows=False):
    """Checks and completes the `QuestionFile` for a model of SQuAD 1.1 or 2.0.

    Args:
        found: the result of `read_question_file`.
        version: 1 or 2.
        role: the role of the questions; for "test" they need not have answers.
        skip_bad_rows: skip questions that cannot be learned or scored.

    Raises:
        UserError: the file does not fit the version or the role.
    """
    if version == 1 and found.impossible:
        raise UserError(
            f"{found.path} looks like SQuAD 2.0: {found.impossible} of its "
            f"{len(found)} questions have no answer; pass --version=2."
        )
    kept, notices = dataclasses.replace(found, role=role), found.notices()
    if not skip_bad_rows:
        _check(kept, version, notices)
    for line in notice_lines(notices, () if kept.is_labelled else (UNANSWERED,)):
        logging.warning("%s: %s", found.path, line)
    if skip_bad_rows and kept.is_labelled:
        paragraphs = [_without_bad_rows(p, role, version) for p in found.paragraphs]
        kept = dataclasses.replace(kept, paragraphs=tuple(paragraphs))
    if not len(kept):
        raise UserError(f"{found.path} holds no usable question.")
    return dataclasses.replace(kept, num_skipped=len(found) - len(kept))


def _check(found, version, notices):
    """Refuses questions that cannot be learned or scored."""
    faults = dict(_UNLEARNABLE) if found.is_training else {}
    if version == 1 and found.is_labelled:
        faults.setdefault(UNANSWERED, "add the answers, for SQuAD 1.1 scores them")
    for what, action in faults.items():
        if ids := notices.get(what):
            raise UserError(
                f"{found.path}: {what} in {counted(ids)} of {len(found)} "
                f"({shortened(ids)}); {action}, or leave them out with --skip_bad_rows."
            )


def _without_bad_rows(paragraph, role, version):
    kept = [
        question
        for question in paragraph.questions
        if (
            can_be_learned(question, paragraph.context)
            if role == "train"
            else version == 2 or question.answers
        )
    ]
    return dataclasses.replace(paragraph, questions=tuple(kept))


def oddities(question, context):
    """Yields each of a question's oddities once."""
    if not context.strip():
        yield BLANK_CONTEXT
    if not question.text.strip():
        yield BLANK_QUESTION
    if not question.answers and not question.is_impossible:
        yield UNANSWERED
    if any(not answer.text.strip() for answer in question.answers):
        yield BLANK_ANSWER
    if not all(answer.is_in(context) for answer in question.answers):
        yield MISPLACED


def can_be_learned(question, context):
    """Returns whether a question is usable for training."""
    return _UNLEARNABLE.keys().isdisjoint(oddities(question, context))


def note(notices, what, question_id):
    """Adds the id of a question to `notices`, a dict of lists by kind of notice."""
    notices.setdefault(what, []).append(question_id)


def notice_lines(notices, expected=()):
    """Formats a line per kind: "there is no answer: 2 questions (a, b)".

    Args:
        notices: question ids by kind of notice.
        expected: kinds to omit, since they are normal here.
    """
    return [
        f"{what}: {counted(ids)} ({shortened(ids)})"
        for what, ids in notices.items()
        if what not in expected
    ]


def counted(ids):
    """Formats the count: "1 question", "2 questions" …"""
    return f"{len(ids)} question{'s' if len(ids) != 1 else ''}"


def read_paragraphs(path):
    """Yields each `Paragraph` of a file.

    Raises:
        UserError: the file is unreadable, not in SQuAD's format, or has two questions
            with the same id.
    """
    articles, seen = read_squad(path).get("data"), set()
    if not isinstance(articles, list) or not articles:
        raise UserError(
            f'{path} is not in SQuAD\'s layout: it has no articles under "data".'
        )
    try:
        for article in articles:
            title = _member(article, "title", str, "an article", "")
            where = f"the article {title!r}"
            for paragraph in _member(article, "paragraphs", list, where):
                context = _member(paragraph, "context", str, f"a paragraph of {where}")
                qas = _member(paragraph, "qas", list, f"a paragraph of {where}")
                within = f"a question of {where}"
                questions = tuple(_question(qa, within, seen) for qa in qas)
                yield Paragraph(context, questions, title)
    except _Misfit as misfit:
        raise UserError(f"{path} is not in SQuAD's layout: {misfit}.") from misfit


def read_squad(path):
    """Reads the JSON object of a file as a dict, or builds it from rows.

    Raises:
        UserError: the file is unreadable, or neither a JSON object nor rows.
    """
    is_json = suffix_of(path) == ".json" or not holds_objects(path)
    values = read_json_text(path) if is_json else None
    if isinstance(values, dict):
        return values
    if not (values is None or isinstance(values, list)):
        raise UserError(f"{path} must hold one JSON object.")
    articles = []
    for where, row in (
        read_rows(path)
        if values is None
        else ((f"{path}, row {n}", row) for n, row in enumerate(values, 1))
    ):
        if not isinstance(row, dict):
            found = str(row) if isinstance(row, ValueError) else repr(row)
            problem = f"expected a question, got {found:.80}"
            raise UserError(f"{where}: {problem}; correct the row, or leave it out.")
        title, context = row.get("title") or "", row.get("context")
        if not articles or articles[-1]["title"] != title:
            articles.append({"title": title, "paragraphs": []})
        paragraphs = articles[-1]["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != context:
            paragraphs.append({"context": context, "qas": []})
        paragraphs[-1]["qas"].append(_qa(where, row))
    return {"data": articles}


def _qa(where, row):
    """Converts a row to a question in SQuAD's format."""
    qa = {name: row[name] for name in ("id", "question") if name in row}
    if "answers" not in row:
        return qa
    try:
        texts, starts = row["answers"]["text"], row["answers"]["answer_start"]
        answers = [
            {"text": text, "answer_start": start}
            for text, start in zip(texts, starts, strict=True)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f'{where}: the answers are {row["answers"]!r}, expected {{"text": […], '
            '"answer_start": […]}; correct the row.'
        ) from error
    return {**qa, "answers": answers, "is_impossible": not answers}


class _Misfit(Exception):
    """A part of an article violates SQuAD's format."""


def _question(qa, where, seen):
    identity = _member(qa, "id", str, where)
    if identity in seen:
        raise _Misfit(f"two questions have the id {identity!r}")
    seen.add(identity)
    where = f"the question {identity!r}"
    answers = tuple(
        Answer(
            _member(answer, "text", str, f"an answer to {where}"),
            _member(answer, "answer_start", int, f"an answer to {where}"),
        )
        for answer in _member(qa, "answers", list, where, [])
    )
    impossible = _member(qa, "is_impossible", bool, where, False)
    text = _member(qa, "question", str, where)
    # The answers of impossible questions are plausible but wrong.
    return Question(identity, text, () if impossible else answers, impossible)


def _member(values, name, kind, where, default=None):
    if not isinstance(values, dict):
        raise _Misfit(f"{where} is not an object")
    value = values.get(name, default)
    if value is None:
        raise _Misfit(f"{where} has no {name!r}")
    # JSON's true is a number in Python.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _Misfit(f"{name!r} of {where} is not of type {kind.__name__}")
    if kind is str and not value.isascii() and _SURROGATE.search(value):
        raise _Misfit(f"{name!r} of {where} holds half of a surrogate pair")
    return value
