"""Questions with options, in memory, whatever file they are from."""

import dataclasses
import itertools

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.tables import check_characters

_FEWEST = 2  # options


@dataclasses.dataclass(frozen=True)
class Question:
    """A question on a text, with the options of which one answers it.

    Attributes:
        id: its name in result files.
        context: the text.
        text: the question itself; may be empty, as where the context is a prompt.
        options: str, two or more.
        label: place of the right option, from 0; None where it is unknown.
        group: the part of the data set that is also scored by itself, or "".
    """

    id: str
    context: str
    text: str
    options: tuple
    label: int | None = None
    group: str = ""


@dataclasses.dataclass(frozen=True)
class ChoiceFile(Examples):
    """Questions of one or several files.

    Attributes:
        questions: the `Question`s, a tuple.
    """

    questions: tuple

    def __len__(self):
        return len(self.questions)

    @property
    def labels(self):
        """int32 `[N]`; None where a question has none."""
        labels = [question.label for question in self.questions]
        return None if None in labels else np.array(labels, np.int32)

    def groups(self):
        """Lists the parts that are scored by themselves; none if there is one."""
        found = list(dict.fromkeys(question.group for question in self.questions))
        return found if len(found) > 1 else []

    def inputs_digest(self):
        return digest_of((q.context, q.text, q.options) for q in self.questions)

    def digest(self):
        return digest_of(self.questions)


def read_questions(parts, role="dev", is_labelled=True, skip_bad_rows=False):
    """Reads a `ChoiceFile`.

    Args:
        parts: by path of a file (or folder) an iterable of (place in it, `Question` or
            the ValueError that describes its fault).
        role: one of `ROLES`.
        is_labelled: whether each must have a label; otherwise none has.
        skip_bad_rows: leave bad questions out and count them, instead of stopping.

    Raises:
        UserError: a file is missing, holds something else or no question, or a
            question in it is bad.
    """
    path, questions, skipped = ", ".join(parts), [], 0
    for where, question in itertools.chain.from_iterable(parts.values()):
        if not isinstance(question, ValueError):
            if not is_labelled:
                question = dataclasses.replace(question, label=None)
            elif question.label is None:
                question = ValueError("the question has no label")
        if not isinstance(question, ValueError):
            questions.append(question)
        elif skip_bad_rows:
            skipped += 1
        else:
            raise UserError(
                f"{where}: {question}; correct it, or leave bad rows out with "
                "--skip_bad_rows."
            ) from question
    if not questions:
        raise UserError(f"{path} holds no usable question.")
    return ChoiceFile(path, tuple(questions), role=role, num_skipped=skipped)


def checked_question(
    identity, context, text, options, label, group="", may_be_empty=False
):
    """Makes a `Question` from the values of a file.

    Args:
        identity: its name in result files.
        context, text: should be str.
        options: should be a list of two str or more.
        label: should be the place of the right option from 0, or its text; None where
            it is unknown.
        group: as of `Question`.
        may_be_empty: whether an option may have no visible text.

    Raises:
        ValueError: the values are something else, which the message names.
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
    place = _place(label, options)
    return Question(str(identity), context, text, tuple(options), place, group)


def _place(label, options):
    if label is None:
        return None
    if isinstance(label, str):
        if label not in options:
            raise ValueError(f"the answer {label!r} is not one of the options")
        return options.index(label)
    if type(label) is not int:
        raise ValueError(
            f"the label is {label!r}, expected the number or the text of an option"
        )
    if not 0 <= label < len(options):
        raise ValueError(
            f"there is no option {label}; the {len(options)} options count from 0"
        )
    return label
