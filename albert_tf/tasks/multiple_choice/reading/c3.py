"""C3: Chinese dialogues and texts with questions of two to four options.

[[["a turn", "a turn", …], [{"question": …, "choice": […], "answer": …}, …], "id"], …]

Source: Sun et al., 2020, "Investigating Prior Knowledge for Challenging Chinese Machine
Reading Comprehension"; README of github.com/nlpdata/c3.
"""

import pathlib

from albert_tf.errors import UserError
from albert_tf.io.files import parse_json
from albert_tf.io.text_files import read_text
from albert_tf.tasks.multiple_choice.reading.questions import Part
from albert_tf.tasks.multiple_choice.reading.questions import checked_question

_GROUPS = {"d": "dialogue", "m": "mixed"}


def c3_parts(data_dir, role):
    """Lists the `Part`s of a split, `c3-d-<role>.json` and `c3-m-<role>.json`.

    Either is enough; None if the folder has neither.
    """
    paths = {
        group: pathlib.Path(data_dir, f"c3-{letter}-{role}.json")
        for letter, group in _GROUPS.items()
    }
    found = {group: path for group, path in paths.items() if path.exists()}
    return tuple(Part(str(p), read_c3, group) for group, p in found.items()) or None


def read_c3(path):
    """Yields (where, `Question` or ValueError) of the questions of a file.

    Raises:
        UserError: the file cannot be read, or is no C3.
    """
    text = read_text(path)
    try:
        documents = parse_json(text)
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error
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
            try:
                question = checked_question(
                    f"{identity}-{place}",
                    "\n".join(turns),
                    values.get("question"),
                    values.get("choice"),
                    values.get("answer"),
                )
            except ValueError as error:
                question = error
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
