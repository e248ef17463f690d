"""Files of questions with options: RACE, C3, and JSONL or Parquet of your own.

RACE has articles with questions of four options, one file an article or all.txt.
Source: `RaceProcessor` in race_utils.py of google-research/albert, which reads
`RACE/{train,dev,test}/{middle,high}/all.txt`, an article a line. RACE is published with
one file an article.

C3 has Chinese dialogues and texts with questions of two to four options:

[[["a turn", "a turn", …], [{"question": …, "choice": […], "answer": …}, …], "id"], …]

Source: Sun et al., 2020, "Investigating Prior Knowledge for Challenging Chinese Machine
Reading Comprehension"; README of github.com/nlpdata/c3.

JSONL of your own has a question a row, with as many options as it has:

{"id": …, "context": …, "question": …, "options": ["…", "…"], "label": 1}

`id` may be absent, and so may `question` (where the context is a prompt that an option
ends) and, in files to predict, `label`: the place of the right option from 0, or its
text. -1 and "" stand for a hidden label.
"""

import pathlib

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import read_rows
from albert_tf.io.text_files import read_json_text
from albert_tf.io.text_files import read_text
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.examples import or_error
from albert_tf.tasks.multiple_choice.questions import checked_question

LEVELS = ("middle", "high")
LABEL = "label"
_ALL = "all.txt"
_LISTS = ("questions", "options", "answers")
_C3_GROUPS = {"d": "dialogue", "m": "mixed"}
_HIDDEN = (-1, "")


def race_parts(data_dir, role, levels=LEVELS):
    """Returns the readers of a split by folder; {} if there is none of that name.

    Args:
        data_dir: the folder that holds `RACE`, or `train`, `dev` and `test`.
        role: "train", "dev" or "test".
        levels: which of `LEVELS`, in this order.

    Raises:
        UserError: one of the levels is missing.
    """
    for folder in (pathlib.Path(data_dir, "RACE", role), pathlib.Path(data_dir, role)):
        if not folder.is_dir():
            continue
        for level in levels:
            if not (folder / level).is_dir():
                raise UserError(
                    f"{folder} has no folder {level!r}; expected RACE's {role} set "
                    "as it is published."
                )
        return {str(folder / name): _read_level(folder / name) for name in levels}
    return {}


def _read_level(folder):
    """Yields (where, `Question` or ValueError) of the articles of one level.

    They stand in `all.txt`, an article a line, or in a file each, which are read in the
    order of their names.
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
            yield from _questions(where, text, folder.name)


def _questions(where, text, group):
    try:
        problem = _problem(article := parse_json(text))
    except ValueError as error:
        problem = f"not valid JSON ({error})"
    if problem:
        raise UserError(f"{where} is {problem}; expected an article of RACE.")
    for number in range(len(article["answers"])):
        question = or_error(_race_question, article, number, group)
        yield f"{where}, question {number + 1}", question


def _problem(article):
    """Describes a JSON value that is no article; None of one that is."""
    if not isinstance(article, dict):
        return "not a JSON object"
    for name in _LISTS:
        if not isinstance(article.get(name), list):
            return f"without a list of {name}"
    sizes = {name: len(article[name]) for name in _LISTS}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{size} {name}" for name, size in sizes.items())
        return f"an article with {counts}"
    return None


def _race_question(article, number, group):
    options, answer = article["options"][number], article["answers"][number]
    if not (isinstance(answer, str) and len(answer) == 1 and "A" <= answer <= "Z"):
        raise ValueError(f"the answer is {answer!r}, expected a letter such as A")
    return checked_question(
        f"{article.get('id', '')}-{number}",
        article.get("article"),
        article["questions"][number],
        options,
        ord(answer) - ord("A"),
        group,
        may_be_empty=True,  # as some of RACE's are
    )


def c3_parts(data_dir, role):
    """Returns the readers of `c3-d-<role>.json` and `c3-m-<role>.json` by path.

    Either is enough; {} if the folder has neither.
    """
    paths = {
        group: pathlib.Path(data_dir, f"c3-{letter}-{role}.json")
        for letter, group in _C3_GROUPS.items()
    }
    return {str(p): _read_c3(p, group) for group, p in paths.items() if p.exists()}


def _read_c3(path, group):
    """Yields (where, `Question` or ValueError) of the questions of a file."""
    documents = read_json_text(path)
    if not isinstance(documents, list):
        raise UserError(f"{path} must hold one JSON list of documents.")
    for number, document in enumerate(documents, 1):
        if not _is_document(document):
            raise UserError(
                f"{path}, document {number} is not a document of C3; expected a list "
                "of texts, a list of questions and an id."
            )
        turns, questions, identity = document
        for place, values in enumerate(questions):
            members = map(values.get, ("question", "choice", "answer"))
            name, context = f"{identity}-{place}", "\n".join(turns)
            question = or_error(checked_question, name, context, *members, group)
            yield f"{path}, document {identity!r}, question {place + 1}", question


def _is_document(document):
    if not isinstance(document, list) or len(document) != 3:
        return False
    turns, questions, identity = document
    kinds = ((turns, str), (questions, dict))
    return isinstance(identity, str) and all(
        isinstance(items, list) and all(isinstance(item, kind) for item in items)
        for items, kind in kinds
    )


def jsonl_parts(data_dir, role):
    """Returns the reader of `<role>.jsonl` by path; {} if there is no such file.

    Raises:
        UserError: there are two of it, as `<role>.ndjson`.
    """
    path = files_by_role(data_dir, OBJECTS, ()).get(role)
    return {str(path): read_jsonl(path)} if path else {}


def read_jsonl(path):
    """Yields (where, `Question` or ValueError) of the questions of a file.

    Raises:
        UserError: the file cannot be read.
    """
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
