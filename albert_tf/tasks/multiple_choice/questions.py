"""Questions with options, and their files: RACE, C3, and custom JSONL or Parquet.

RACE has articles with questions with four options each. It is published with one file
per article. `RaceProcessor` in race_utils.py of google-research/albert reads
`RACE/{train,dev,test}/{middle,high}/all.txt` with one article per line.

C3 has Chinese dialogues and texts with questions with two to four options:

[[["a turn", "a turn", …], [{"question": …, "choice": […], "answer": …}, …], "id"], …]

Source: Sun et al., 2020, "Investigating Prior Knowledge for Challenging Chinese Machine
Reading Comprehension"; README of github.com/nlpdata/c3.

Custom JSONL or Parquet has one question per row, with any number of options:

{"id": …, "context": …, "question": …, "options": ["…", "…"], "label": 1}

`id` is optional, and so is `question` (if the context is a prompt that an option
completes) and, in files to predict, `label`: the index of the correct option from 0, or
its text. The labels -1 and "" are hidden labels.
"""

import dataclasses
import itertools
import pathlib

import numpy as np

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import read_rows
from albert_tf.io.text_files import read_json_text
from albert_tf.io.text_files import read_text
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.examples import good_ones
from albert_tf.tasks.examples import or_error
from albert_tf.tasks.tables import check_characters

LEVELS = ("middle", "high")
LABEL = "label"
_FEWEST = 2  # options
_ALL = "all.txt"
_OF_ARTICLES = ("questions", "options", "answers")
_OF_C3 = ("question", "choice", "answer")
_C3_GROUPS = {"d": "dialogue", "m": "mixed"}
_HIDDEN = (-1, "")


@dataclasses.dataclass(frozen=True)
class Question:
    """A question on a text, with its options.

    Attributes:
        id: the question's name in result files.
        context: the text.
        text: the question itself; may be empty if the context is a prompt.
        options: two or more str.
        label: index of the correct option, from 0; None if it is unknown.
        group: the part of the data set, which is also scored separately, or "".
    """

    id: str
    context: str
    text: str
    options: tuple
    label: int | None = None
    group: str = ""


@dataclasses.dataclass(frozen=True)
class ChoiceFile(Examples):
    """The questions of one or several files.

    Attributes:
        questions: the `Question`s, a tuple.
    """

    questions: tuple

    def __len__(self):
        return len(self.questions)

    @property
    def labels(self):
        """int32 `[N]`; None if a question has no label."""
        labels = [question.label for question in self.questions]
        return None if None in labels else np.array(labels, np.int32)

    def groups(self):
        """Lists the parts to score separately; empty if there is only one."""
        found = list(dict.fromkeys(question.group for question in self.questions))
        return found if len(found) > 1 else []

    def inputs_digest(self):
        return digest_of((q.context, q.text, q.options) for q in self.questions)

    def digest(self):
        return digest_of(self.questions)


def read_questions(parts, role="dev", is_labelled=True, skip_bad_rows=False):
    """Reads a `ChoiceFile`.

    Args:
        parts: readers by path, from `race_parts`, `c3_parts` or `jsonl_parts`.
        role: one of `ROLES`.
        is_labelled: whether every question must have a label; if not, labels are
            dropped.
        skip_bad_rows: skip and count bad questions instead of raising.

    Raises:
        UserError: a file is missing, has another format or no questions, or has a bad
            question.
    """

    def found():
        for where, question in itertools.chain.from_iterable(parts.values()):
            if isinstance(question, ValueError):
                yield where, question
            elif not is_labelled:
                yield where, dataclasses.replace(question, label=None)
            elif question.label is None:
                yield where, ValueError("the question has no label")
            else:
                yield where, question

    path = ", ".join(parts)
    questions, skipped = good_ones(found(), skip_bad_rows)
    if not questions:
        raise UserError(f"{path} holds no usable question.")
    return ChoiceFile(path, tuple(questions), role=role, num_skipped=skipped)


def race_parts(data_dir, role, levels=LEVELS):
    """Returns the readers of a split of RACE by folder; {} if there is no such split.

    Args:
        data_dir: the folder with `RACE`, or with `train`, `dev` and `test`.
        role: "train", "dev" or "test".
        levels: some of `LEVELS`, in order.
    """
    for folder in (pathlib.Path(data_dir, "RACE", role), pathlib.Path(data_dir, role)):
        if folder.is_dir():
            return {str(folder / name): _read_level(folder / name) for name in levels}
    return {}


def _read_level(folder):
    """Yields (where, `Question` or ValueError) from the articles of one level.

    The articles are in `all.txt`, one per line, or in one file each, read in the order
    of file names.
    """
    if (folder / _ALL).exists():
        lines = enumerate(read_text(folder / _ALL).split("\n"), 1)
        articles = ((f"{folder / _ALL}, line {n}", line) for n, line in lines)
    else:
        files = sorted(folder.glob("*.txt"), key=lambda file: file.name)
        if not files:
            raise UserError(
                f"{folder} has no article; expected {_ALL}, or one .txt file per "
                "article."
            )
        articles = ((str(file), read_text(file)) for file in files)
    for where, text in articles:
        if text.strip():
            yield from _of_article(where, text, folder.name)


def _of_article(where, text, group):
    try:
        article = parse_json(text)
        rows = list(zip(*(article[name] for name in _OF_ARTICLES), strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{where} is no article of RACE ({error!r}); expected a JSON object with "
            "as many questions as options and answers."
        ) from error
    for number, row in enumerate(rows):
        question = or_error(_of_race, article, number, *row, group)
        yield f"{where}, question {number + 1}", question


def _of_race(article, number, text, options, answer, group):
    if not (isinstance(answer, str) and len(answer) == 1 and "A" <= answer <= "Z"):
        raise ValueError(f"the answer is {answer!r}, expected a letter such as A")
    return checked_question(
        f"{article.get('id', '')}-{number}",
        article.get("article"),
        text,
        options,
        ord(answer) - ord("A"),
        group,
        may_be_empty=True,  # as some of RACE's are
    )


def c3_parts(data_dir, role):
    """Returns the readers of `c3-d-<role>.json` and `c3-m-<role>.json` by path.

    Either file may be missing; {} if both are.
    """
    paths = {
        group: pathlib.Path(data_dir, f"c3-{letter}-{role}.json")
        for letter, group in _C3_GROUPS.items()
    }
    return {str(p): _read_c3(p, group) for group, p in paths.items() if p.exists()}


def _read_c3(path, group):
    """Yields (where, `Question` or ValueError) for the questions in a file."""
    for number, document in enumerate(read_json_text(path), 1):
        try:
            turns, questions, identity = document
            if not isinstance(turns, list):  # a text would be joined, too
                raise TypeError(f"{turns!r:.80} is no list of texts")
            context = "\n".join(turns)
            rows = [[question.get(name) for name in _OF_C3] for question in questions]
        except (AttributeError, TypeError, ValueError) as error:
            raise UserError(
                f"{path}, document {number} is not a document of C3 ({error}); "
                "expected a list of texts, a list of questions and an id."
            ) from error
        for place, row in enumerate(rows):
            name = f"{identity}-{place}"
            question = or_error(checked_question, name, context, *row, group)
            yield f"{path}, document {identity!r}, question {place + 1}", question


def jsonl_parts(data_dir, role):
    """Returns the reader of `<role>.jsonl` by path; {} if there is no such file.

    Raises:
        UserError: there are two such files, such as `<role>.ndjson` beside it.
    """
    path = files_by_role(data_dir, OBJECTS, ()).get(role)
    return {str(path): read_jsonl(path)} if path else {}


def read_jsonl(path):
    """Yields (where, `Question` or ValueError) for the questions in a file."""
    for number, (where, fields) in enumerate(read_rows(path)):
        question = fields
        if not isinstance(fields, ValueError):
            label = fields.get(LABEL)
            question = or_error(
                checked_question,
                fields.get("id", number),
                fields.get("context"),
                fields.get("question", ""),
                fields.get("options"),
                None if label in _HIDDEN else label,
            )
        yield where, question


def checked_question(
    identity, context, text, options, label, group="", may_be_empty=False
):
    """Validates values from a file, and makes a `Question`.

    Args:
        identity, context, text, options, group: see `Question`.
        label: the index of the correct option from 0, or its text; None if it is
            unknown.
        may_be_empty: whether an option may have no visible text.

    Raises:
        ValueError: a value is invalid; the message names it.
    """
    for name, value in (("context", context), ("question", text)):
        if not isinstance(value, str):
            raise ValueError(f"the {name} is {value!r}, not a text")
    if not isinstance(options, list) or not all(isinstance(o, str) for o in options):
        raise ValueError(f"the options are {options!r}, not a list of texts")
    if len(options) < _FEWEST:
        raise ValueError(
            f"the question has {len(options)} option(s), expected {_FEWEST} or more"
        )
    if not may_be_empty and not all(option.strip() for option in options):
        raise ValueError("an option is empty")
    for value in (identity, context, text, *options):
        check_characters("text", value)
    if isinstance(label, str):
        if label not in options:
            raise ValueError(f"the answer {label!r} is not one of the options")
        label = options.index(label)
    # JSON's true is an int in Python.
    if label is not None and (type(label) is not int or not 0 <= label < len(options)):
        raise ValueError(
            f"the label is {label!r}, expected the text of an option or its number, "
            f"from 0 to {len(options) - 1}"
        )
    return Question(str(identity), context, text, tuple(options), label, group)
