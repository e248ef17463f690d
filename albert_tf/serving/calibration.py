"""The rows on which an export measures the ranges of static int8."""

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io.files import read_file

_MOST_LINES = 300


def calibration_rows(path, module, task):
    """Tokenizes lines of a file as the model does with what it is asked.

    Args:
        path: a text file in UTF-8, an input a line; tabs separate the texts of one.
        module: the `ServingModule`.
        task: its `Task`.

    Returns:
        A list of dicts of int32 arrays `[rows, …, tokens]`, of at most `_MOST_LINES`
        lines from all parts of the file.

    Raises:
        UserError: the file cannot be read, has no text, or has a line with more or
            fewer texts than the model takes.
    """
    try:
        text = read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8; save it as a text file.") from error
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    inputs = [_texts(path, *line, task) for line in lines]
    rows = []
    for strings in inputs[:: -(-len(inputs) // _MOST_LINES) or 1]:
        features = module.text_features(**strings)
        row = {name: values.numpy() for name, values in features.items()}
        if all(values.size for values in row.values()):  # it has what is asked for
            rows.append(row)
    if not rows:
        raise UserError(
            f"{path} has no text that the model answers; expected 100 to 500, one a "
            "line, of the kind that it will be asked."
        )
    return rows


def _texts(path, number, line, task):
    """Returns the strings of a line as tensors `[1, …]` by input name."""
    names, fields = task.text_inputs, line.rstrip("\r").split("\t")
    if task.text_lists and len(fields) > len(names):  # the last one is a list
        fields[len(names) - 1 :] = [fields[len(names) - 1 :]]
    if len(fields) != len(names):
        raise UserError(
            f"Line {number} of {path} has {len(fields)} texts with tabs between them; "
            f"the model takes {', '.join(names)}."
        )
    texts = dict(zip(names, fields, strict=True))
    for name in task.text_lists:
        texts[name] = [texts[name]] if isinstance(texts[name], str) else texts[name]
    return {name: tf.constant([value]) for name, value in texts.items()}
