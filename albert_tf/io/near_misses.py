"""Guesses at the name or path that a user meant."""

import difflib
import functools
import inspect
import os
import re

from albert_tf.errors import UserError
from albert_tf.io import storage

_MANY = 10_000  # names in a folder; more are not compared
# Where the output folder of a fine-tuning run, or of several runs, holds a model.
_MODELS_OF_RUNS = ("model", "run_0/model")
# Names of other libraries that newcomers type first.
_OF_OTHERS = {
    "AutoTokenizer": "albert_tf.load_tokenizer(path)",
    "AutoModel": "albert_tf.AlbertModel.from_pretrained(path)",
    "pipeline": "albert_tf.Predictor(path)",
    "Trainer": "albert_tf.TextClassifier(path)",
    **dict.fromkeys(
        ("id2label", "label2id"), 'labels=["sad", "glad"], in the order of their ids'
    ),
    "problem_type": 'label_kind="multi_label" or label_kind="regression"',
}
# Such as TFAutoModelForMaskedLM and DebertaV2ForMaskedLM.
_HEAD_OF_OTHERS = re.compile(
    r"\w+?(?:Model)?(For(?:MaskedLM|MultipleChoice|QuestionAnswering"
    r"|SequenceClassification|TokenClassification))"
)


def close_name(name, names):
    """Returns the one of `names` that looks most like `name`, or None."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def did_you_mean(path):
    """Returns a question to end a message about a path that does not exist.

    Returns:
        "; did you mean k99/model?" if there is a path whose parts equal `path`'s
        or look like them, else "".
    """
    path = os.fspath(path)
    if not path or storage.is_remote(path) or os.path.lexists(path):
        return ""
    found = os.path.abspath(os.sep) if os.path.isabs(path) else ""
    for part in os.path.normpath(path).split(os.sep):
        if os.path.lexists(os.path.join(found, part)):
            found = os.path.join(found, part)
            continue
        close = close_name(part, _names_in(found))
        if close is None:
            return ""
        found = os.path.join(found, close)
    return f"; did you mean {found}?"


def model_file(folder, name):
    """Returns the path of a file of a model, which may lie deeper; None without it."""
    for place in ("", *_MODELS_OF_RUNS):
        path = os.path.join(folder, place, name)
        if storage.exists(path):
            return path
    return None


def _names_in(folder):
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith("."))[:_MANY]


def unknown_attribute(owner, name):
    """Returns the message of the `AttributeError` for a name that `owner` lacks."""
    meant = _OF_OTHERS.get(name)
    if head := _HEAD_OF_OTHERS.fullmatch(name):
        meant = f"albert_tf.Albert{head[1]}.from_pretrained(path)"
    return f"{owner} has no attribute {name!r}{f'; use {meant}' if meant else ''}"


def refuse_arguments(owner, arguments, known):
    """Refuses unknown keyword arguments, and names the one that was probably meant.

    Args:
        owner: the name of the callable, for the message.
        arguments: the names that were given.
        known: the names that the callable takes.

    Raises:
        UserError: an argument is unknown.
    """
    for name in (name for name in arguments if name not in known):
        close = close_name(name, known)
        hint = f"did you mean {close}?" if close else f"it takes {', '.join(known)}."
        hint = f"use {_OF_OTHERS[name]}." if name in _OF_OTHERS else hint
        raise UserError(f"{owner} takes no {name}; {hint}")


@functools.cache
def arguments_of(*functions):
    """Returns the names of the arguments that functions or classes take, a tuple."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    found = [p for f in functions for p in inspect.signature(f).parameters.values()]
    return tuple(sorted({p.name for p in found if p.kind in kinds} - {"self"}))
