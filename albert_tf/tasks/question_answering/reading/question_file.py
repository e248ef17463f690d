"""A file of questions in memory, as training, scores and predictions read it."""

import dataclasses

from absl import logging

from albert_tf.errors import UserError
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.question_answering.reading.survey import UNANSWERED
from albert_tf.tasks.question_answering.reading.survey import can_be_learned
from albert_tf.tasks.question_answering.reading.survey import counted
from albert_tf.tasks.question_answering.reading.survey import listed


@dataclasses.dataclass(frozen=True)
class QuestionFile(Examples):
    """Questions of one file.

    Attributes:
        paragraphs: its `Paragraph`s, a tuple.
    """

    paragraphs: tuple

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

    @property
    def is_training(self):
        """True if they are learned from."""
        return self.role == "train"

    @property
    def is_labelled(self):
        return self.role != "test"

    def digest(self):
        return digest_of(self.paragraphs)

    def inputs_digest(self):
        return f"{self.digest()} {self.is_training}"  # windows of training know answers


def question_file(found, version, role="dev", skip_bad_rows=False):
    """Makes the `QuestionFile` for a model of SQuAD 1.1 or 2.0.

    Args:
        found: the `Survey` of the file.
        version: 1 or 2.
        role: the use of the questions; for "test" they need not have answers.
        skip_bad_rows: leave out questions that cannot be learned or scored.

    Raises:
        UserError: the file does not fit the version or the role.
    """
    found.check_version(version)
    if role == "train" and not skip_bad_rows:
        found.check_answers()
    is_labelled = role != "test"
    if is_labelled and version == 1 and not skip_bad_rows:
        _check_answered(found)
    for line in found.notices.lines(() if is_labelled else (UNANSWERED,)):
        logging.warning("%s: %s", found.path, line)
    paragraphs = found.paragraphs
    if skip_bad_rows and is_labelled:
        paragraphs = _without_bad_rows(paragraphs, role == "train", version)
    kept = QuestionFile(found.path, paragraphs, role=role)
    if not len(kept):
        raise UserError(f"{found.path} holds no usable question.")
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
