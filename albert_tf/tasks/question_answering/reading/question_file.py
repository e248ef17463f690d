"""A file of questions in memory, as training, scores and predictions read it."""

import dataclasses
import hashlib

from absl import logging

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.reading.notices import counted
from albert_tf.tasks.question_answering.reading.notices import listed
from albert_tf.tasks.question_answering.reading.questions import read_paragraphs
from albert_tf.tasks.question_answering.reading.survey import UNANSWERED
from albert_tf.tasks.question_answering.reading.survey import can_be_learned
from albert_tf.tasks.question_answering.reading.survey import survey
from albert_tf.tasks.source import Split


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionSplit(Split):
    """A file that was read already, to see what it is.

    Attributes:
        paragraphs: its `Paragraph`s, a tuple.
    """

    paragraphs: tuple


@dataclasses.dataclass(frozen=True)
class QuestionFile:
    """The examples of a split.

    Attributes:
        path: the file.
        paragraphs: its `Paragraph`s, a tuple.
        is_training: whether it is learned from.
        num_skipped: questions that were left out.
    """

    path: str
    paragraphs: tuple
    is_training: bool = False
    num_skipped: int = 0

    def __len__(self):
        return sum(len(paragraph.questions) for paragraph in self.paragraphs)

    @property
    def questions(self):
        """All `Question`s, in order."""
        return [q for paragraph in self.paragraphs for q in paragraph.questions]

    @property
    def contexts(self):
        """The text of each question's paragraph."""
        return [p.context for p in self.paragraphs for _ in p.questions]

    def digest(self):
        """A hash of paragraphs, questions and answers."""
        found = hashlib.sha256()
        for paragraph in self.paragraphs:
            found.update(repr(paragraph).encode())
        return found.hexdigest()

    def inputs_digest(self):
        """A hash of all that windows are made from: of training, answers are part."""
        return f"{self.digest()} {self.is_training}"


def read_question_file(split, version, skip_bad_rows=False):
    """Reads a file for a model of SQuAD 1.1 or 2.0.

    Args:
        split: a `Split`, read here, or a `QuestionSplit`; one that is neither for
            training nor labelled need not have answers.
        version: 1 or 2.
        skip_bad_rows: leave out what cannot be learned or scored.

    Raises:
        UserError: the file is no SQuAD, or does not fit the version or what it is for.
    """
    if isinstance(split, QuestionSplit):
        paragraphs = split.paragraphs
    else:
        paragraphs = tuple(read_paragraphs(split.path))
    found = survey(split.path, paragraphs)
    found.check_version(version)
    if split.is_training and not skip_bad_rows:
        found.check_answers()
    if split.is_labelled and version == 1 and not skip_bad_rows:
        _check_answered(found)
    expected = () if split.is_labelled else (UNANSWERED,)
    for line in found.notices.lines(expected):
        logging.warning("%s: %s", split.path, line)
    if skip_bad_rows and split.is_labelled:
        paragraphs = _without_bad_rows(paragraphs, split.is_training, version)
    kept = QuestionFile(str(split.path), paragraphs, split.is_training)
    if not len(kept):
        raise UserError(f"{split.path} holds no usable question.")
    return dataclasses.replace(kept, num_skipped=found.questions - len(kept))


def _check_answered(found):
    ids = found.notices.ids(UNANSWERED)
    if ids:
        raise UserError(
            f"{found.path} has no answer to {counted(ids)} of {found.questions} "
            f"({listed(ids)}), which SQuAD 1.1 cannot score; add the answers, or leave "
            "the questions out with --skip_bad_rows."
        )


def _without_bad_rows(paragraphs, is_training, version):
    def keep(question, context):
        if is_training:
            return can_be_learned(question, context)
        return version == 2 or question.answers

    return tuple(
        dataclasses.replace(
            paragraph,
            questions=tuple(
                q for q in paragraph.questions if keep(q, paragraph.context)
            ),
        )
        for paragraph in paragraphs
    )
