"""RACE: articles with questions of four options, one file an article or all.txt.

Source: `RaceProcessor` in race_utils.py of google-research/albert, which reads
`RACE/{train,dev,test}/{middle,high}/all.txt`, an article a line. RACE is published with
one file an article.
"""

import pathlib

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.io.text_files import read_text
from albert_tf.tasks.multiple_choice.reading.questions import Part
from albert_tf.tasks.multiple_choice.reading.questions import checked_question

LEVELS = ("middle", "high")
_ALL = "all.txt"
_LISTS = ("questions", "options", "answers")


def race_parts(data_dir, role, levels=LEVELS):
    """Lists the `Part`s of a split; None if the folder has none of that name.

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
        return tuple(Part(str(folder / name), read_level, name) for name in levels)
    return None


def read_level(path):
    """Yields (where, `Question` or ValueError) of the articles of one level.

    Args:
        path: a folder with `all.txt`, an article a line, or with a file an article,
            which are read in the order of their names.

    Raises:
        UserError: a file cannot be read, or is no article.
    """
    folder = pathlib.Path(path)
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
            yield from _questions(where, text)


def _questions(where, text):
    try:
        article = parse_json(text)
        problem = None if isinstance(article, dict) else "not a JSON object"
    except ValueError as error:
        problem = f"not valid JSON ({error})"
    if problem is None:
        problem = _problem(article)
    if problem:
        raise UserError(f"{where} is {problem}; expected an article of RACE.")
    for number in range(len(article["answers"])):
        try:
            question = _question(article, number)
        except ValueError as error:
            question = error
        yield f"{where}, question {number + 1}", question


def _problem(article):
    """Describes an object that is no article."""
    for name in _LISTS:
        if not isinstance(article.get(name), list):
            return f"without a list of {name}"
    sizes = {name: len(article[name]) for name in _LISTS}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{size} {name}" for name, size in sizes.items())
        return f"an article with {counts}"
    return None


def _question(article, number):
    options, answer = article["options"][number], article["answers"][number]
    if not (isinstance(answer, str) and len(answer) == 1 and "A" <= answer <= "Z"):
        raise ValueError(f"the answer is {answer!r}, expected a letter such as A")
    return checked_question(
        f"{article.get('id', '')}-{number}",
        article.get("article"),
        article["questions"][number],
        options,
        ord(answer) - ord("A"),
        may_be_empty=True,  # as some of RACE's are
    )
