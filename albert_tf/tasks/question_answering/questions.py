"""Files in SQuAD's layout: paragraphs, their questions and the answers.

{"version": …, "data": [{"title": …, "paragraphs": [{"context": …, "qas": [
    {"id": …, "question": …, "is_impossible": false,
     "answers": [{"text": …, "answer_start": …}]}]}]}]}

`version`, `title`, `is_impossible` and `answers` may be absent. SQuAD 1.1 and 2.0,
CMRC 2018 and many others have this layout. The `datasets` package writes a row a
question, as JSON lines, a JSON list or Parquet:

{"id": …, "title": …, "context": …, "question": …,
 "answers": {"text": ["…"], "answer_start": [0]}}

There, empty lists say that the question has no answer.
"""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.io.table_rows import holds_objects
from albert_tf.io.table_rows import read_rows
from albert_tf.io.table_rows import suffix_of
from albert_tf.io.text_files import read_json_text


@dataclasses.dataclass(frozen=True)
class Answer:
    """A text and where it begins in the paragraph, in characters."""

    text: str
    start: int

    def is_in(self, context):
        """Returns whether the paragraph has the text where the answer says."""
        return self.start >= 0 and context.startswith(self.text, self.start)


@dataclasses.dataclass(frozen=True)
class Question:
    """A question; without answers where they are unknown or there is none."""

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


def read_paragraphs(path):
    """Yields each `Paragraph` of a file.

    Raises:
        UserError: the file cannot be read, is no SQuAD, or has two questions of the
            same id.
    """
    articles, seen = read_squad(path).get("data"), set()
    if not isinstance(articles, list) or not articles:
        raise UserError(
            f'{path} is not in SQuAD\'s layout: it has no articles under "data".'
        )
    try:
        for article in articles:
            for paragraph in _paragraphs(article):
                _check_ids(paragraph, seen)
                yield paragraph
    except _Misfit as misfit:
        raise UserError(f"{path} is not in SQuAD's layout: {misfit}.") from misfit


def read_squad(path):
    """Reads the JSON object of a file, a dict; or makes it of rows.

    Raises:
        UserError: the file cannot be read, or is no JSON object and no rows.
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
            problem = f"expected a question, got {row!s:.80}"
            raise UserError(f"{where}: {problem}; correct the row, or leave it out.")
        title, paragraph = row.get("title") or "", {"context": row.get("context")}
        if not articles or articles[-1]["title"] != title:
            articles.append({"title": title, "paragraphs": []})
        paragraphs = articles[-1]["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != paragraph["context"]:
            paragraphs.append({**paragraph, "qas": []})
        paragraphs[-1]["qas"].append(_qa(where, row))
    return {"data": articles}


def _qa(where, row):
    """Returns the question of a row as SQuAD's layout has it."""
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
    """A part of an article that is not as it should be."""


def _paragraphs(article):
    title = _member(article, "title", str, "an article", "")
    where = f"the article {title!r}"
    for paragraph in _member(article, "paragraphs", list, where):
        context = _member(paragraph, "context", str, f"a paragraph of {where}")
        within = f"a question of {where}"
        qas = _member(paragraph, "qas", list, f"a paragraph of {where}")
        yield Paragraph(context, tuple(_question(qa, within) for qa in qas), title)


def _question(qa, where):
    identity = _member(qa, "id", str, where)
    where = f"the question {identity!r}"
    answers = tuple(
        Answer(
            _member(answer, "text", str, f"an answer to {where}"),
            _member(answer, "answer_start", int, f"an answer to {where}"),
        )
        for answer in _member(qa, "answers", list, where, [])
    )
    impossible = _member(qa, "is_impossible", bool, where, False)
    # The answers beside is_impossible are wrong ones that seem plausible.
    return Question(
        identity,
        _member(qa, "question", str, where),
        () if impossible else answers,
        impossible,
    )


def _member(values, name, kind, where, default=None):
    if not isinstance(values, dict):
        raise _Misfit(f"{where} is not an object")
    value = values.get(name, default)
    if value is None:
        raise _Misfit(f"{where} has no {name!r}")
    # JSON's true is a number in Python.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _Misfit(f"{name!r} of {where} is not of type {kind.__name__}")
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _Misfit(
                f"{name!r} of {where} holds half of a surrogate pair"
            ) from None
    return value


def _check_ids(paragraph, seen):
    for question in paragraph.questions:
        if question.id in seen:
            raise _Misfit(f"two questions have the id {question.id!r}")
        seen.add(question.id)
