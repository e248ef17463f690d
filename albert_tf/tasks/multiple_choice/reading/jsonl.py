"""JSONL of your own, or Parquet: a question a row, with as many options as it has.

{"id": …, "context": …, "question": …, "options": ["…", "…"], "label": 1}

`id` may be absent, and so may `question` (where the context is a prompt that an option
ends) and, in files to predict, `label`: the place of the right option from 0, or its
text. -1 and "" stand for a hidden label.
"""

from albert_tf.io.table_rows import OBJECTS
from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.examples import files_by_role
from albert_tf.tasks.multiple_choice.reading.questions import Part
from albert_tf.tasks.multiple_choice.reading.questions import checked_question
from albert_tf.tasks.tables import has_labels

LABEL = "label"
_HIDDEN = (-1, "")


def jsonl_parts(data_dir, role):
    """Returns the one `Part` of a split, `<role>.jsonl`; None if there is no such file.

    Raises:
        UserError: there are two of it, as `<role>.ndjson`.
    """
    path = files_by_role(data_dir, OBJECTS, ()).get(role)
    return (Part(str(path), read_jsonl),) if path else None


def is_labelled(part):
    """Returns whether the questions of a `Part` have labels that are not hidden."""
    return has_labels(part.path, LABEL)


def read_jsonl(path):
    """Yields (where, `Question` or ValueError) of the questions of a file.

    Raises:
        UserError: the file cannot be read.
    """
    for number, (where, fields) in enumerate(read_rows(path)):
        question = fields
        if not isinstance(fields, ValueError):
            label = fields.get(LABEL)
            try:
                question = checked_question(
                    fields.get("id", number),
                    fields.get("context"),
                    fields.get("question", ""),
                    fields.get("options"),
                    None if label in _HIDDEN else label,
                )
            except ValueError as error:
                question = error
        yield where, question
