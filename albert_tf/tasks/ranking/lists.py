"""Queries, each with a list of graded texts: read from tables, and as token rows."""

import dataclasses
import functools

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.tables import Columns
from albert_tf.tasks.tables import has_column
from albert_tf.tasks.tables import number_of
from albert_tf.tasks.tables import read_table
from albert_tf.tasks.tables import usual_column
from albert_tf.tasks.tokenized_examples import grouped
from albert_tf.tasks.tokenized_examples import tokenize_texts

NO_GRADE = -1.0
"""The label of a missing text of a shorter list."""
_HIGHEST = 30.0  # of grades, since gains are 2^grade
_QUERY, _TEXT = ("query", "anchor", "sentence1"), ("text", "positive", "sentence2")


@dataclasses.dataclass(frozen=True)
class RankedList:
    """A query and its texts.

    Attributes:
        query: str.
        texts: a tuple of str.
        grades: how well each text answers, a tuple of float from 0; None if unknown.
    """

    query: str
    texts: tuple
    grades: tuple | None


@dataclasses.dataclass(frozen=True)
class RankedLists(Examples):
    """The lists of one file, in the order in which their queries first occur.

    Attributes:
        lists: a tuple of `RankedList`.
    """

    lists: tuple

    def __len__(self):
        return len(self.lists)

    @property
    def labels(self):
        """The grades, float32 `[lists, most texts]`; None if they are unknown."""
        if self.lists[0].grades is None:
            return None
        most = max(len(own.texts) for own in self.lists)
        found = np.full((len(self.lists), most), NO_GRADE, np.float32)
        for row, own in zip(found, self.lists, strict=True):
            row[: len(own.grades)] = own.grades
        return found

    def inputs_digest(self):
        return digest_of((own.query, own.texts) for own in self.lists)

    def digest(self):
        return digest_of(self.lists)


def read_lists(path, role, options):
    """Reads the `RankedLists` of a table with a row for each text of a query.

    Without a column of grades, texts of a training or dev table have the grade 1. Those
    of the column of negatives have the grade 0. Of a text with several grades, the
    highest counts.

    Args:
        path: the table.
        role: one of `ROLES`; training lists are divided (`divided`).
        options: the `RankingOptions`.

    Raises:
        UserError: the file is missing, or a row is bad.
    """
    columns = Columns(
        options.query_column or usual_column(path, _QUERY),
        options.text_column or usual_column(path, _TEXT),
        options.label_column if has_column(path, options.label_column) else None,
        False,
        options.negative_column if has_column(path, options.negative_column) else None,
    )
    table = read_table(path, columns, _grade, options.skip_bad_rows, role)
    grades = np.ones(len(table)) if table.labels is None else table.labels
    found = {}
    for row, query in enumerate(table.texts):
        own = found.setdefault(query, {})
        text, grade = table.text_pairs[row], float(grades[row])
        own[text] = max(grade, own.get(text, grade))
        if table.negatives:
            own.setdefault(table.negatives[row], 0.0)
    is_graded = table.labels is not None or table.negatives or role != "test"
    lists = [
        RankedList(query, tuple(own), tuple(own.values()) if is_graded else None)
        for query, own in found.items()
    ]
    if role == "train":
        lists = [part for own in lists for part in divided(own, options.list_size)]
    facts = {"role": role, "num_skipped": table.num_skipped}
    return RankedLists(table.path, tuple(lists), **facts)


def _grade(value):
    """Parses a grade; raises ValueError if it is no number from 0 to 30."""
    grade = number_of(value)
    if grade < 0:
        raise ValueError(f"the grade {value!r} is less than 0")
    if grade > _HIGHEST:
        raise ValueError(
            f"the grade {value!r} is above {_HIGHEST:g}, but gains are 2^grade"
        )
    return np.float32(grade)


def divided(own, size):
    """Divides a list into lists of at most `size` texts, each of two grades or more.

    The texts are dealt out by grade, the best first. If that gives a part texts of one
    grade, parts get one text less, so that a best or a worst text can be repeated.
    """
    order = sorted(range(len(own.texts)), key=lambda place: -own.grades[place])
    parts = _dealt(order, size)
    best, worst = own.grades[order[0]], own.grades[order[-1]]
    if best > worst and any(_is_flat(own, places) for places in parts):
        tops = [place for place in order if own.grades[place] == best]
        parts = _dealt(order, size - 1)
        for number, places in enumerate(parts):
            if _is_flat(own, places):
                is_top = own.grades[places[0]] == best
                top = tops[number % len(tops)]
                parts[number] = [*places, order[-1]] if is_top else [top, *places]
    for places in parts:
        texts, grades = (
            tuple(values[place] for place in places)
            for values in (own.texts, own.grades)
        )
        yield RankedList(own.query, texts, grades)


def _dealt(order, size):
    """Deals places out to as few lists of at most `size` as possible."""
    hands = -(-len(order) // size)
    return [order[hand::hands] for hand in range(hands)]


def _is_flat(own, places):
    """Returns whether texts of a list have one grade."""
    return len({own.grades[place] for place in places}) == 1


def tokenize_lists(lists, tokenizer, max_seq_length, long_texts):
    """Makes `TokenizedExamples` `[lists, texts]` of rows of a query and a text."""
    counts = np.array([len(own.texts) for own in lists])
    queries = [own.query for own in lists for _ in own.texts]
    texts = [text for own in lists for text in own.texts]
    tokenize = functools.partial(tokenize_texts, long_texts=long_texts)
    return grouped(tokenize(queries, texts, tokenizer, max_seq_length), counts)


def check_graded(examples):
    """Refuses lists none of which has texts of two grades.

    Raises:
        UserError: there is nothing to learn from, or all orders have the same score.
    """
    if not any(len({*own.grades}) > 1 for own in examples.lists):
        is_train = examples.role == "train"
        why = "there is nothing to learn" if is_train else "every order scores the same"
        raise UserError(
            f"{examples.path} has no query with texts of two grades, so that {why}; "
            "add texts of a lower grade, or find some with albert-tf mine."
        )
