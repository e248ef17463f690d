"""Contents of a file of questions, and their oddities, before any of it is used."""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.reading.questions import read_paragraphs

_SHOWN = 5


class Notices:
    """Question ids by the oddities noted of them."""

    def __init__(self):
        self._ids = {}

    def add(self, what, question_id):
        """Notes `what` is so for a question, such as "there is no answer"."""
        self._ids.setdefault(what, []).append(question_id)

    def ids(self, what):
        """Returns the questions of which `what` was noted, in order."""
        return list(self._ids.get(what, ()))

    def __bool__(self):
        return bool(self._ids)

    def lines(self, expected=()):
        """Writes a line for each kind: "there is no answer: 2 questions (a, b)".

        Args:
            expected: kinds that are not odd here, and left out.
        """
        return [
            f"{what}: {counted(ids)} ({listed(ids)})"
            for what, ids in self._ids.items()
            if what not in expected
        ]


def counted(ids):
    """Writes "1 question", "2 questions" …"""
    return f"{len(ids)} question{'s' if len(ids) != 1 else ''}"


def listed(ids):
    """Lists the first ids, and the number of the others."""
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more


MISPLACED = "an answer is not where its answer_start says"
UNANSWERED = "there is no answer, and is_impossible is not set"
BLANK_CONTEXT = "the paragraph has no visible text"
BLANK_QUESTION = "the question has no visible text"
BLANK_ANSWER = "an answer has no visible text"


@dataclasses.dataclass(frozen=True)
class Survey:
    """One file, and its figures.

    Attributes:
        path: the file.
        paragraphs: the `Paragraph`s, a tuple.
        questions, answers: how many there are.
        impossible: questions that are marked as having no answer.
        notices: `Notices` of oddities.
    """

    path: str
    paragraphs: tuple
    questions: int
    answers: int
    impossible: int
    notices: Notices

    @property
    def version(self):
        """2 where a question is marked as impossible, otherwise 1."""
        return 2 if self.impossible else 1

    def check_version(self, version):
        """Refuses a file of SQuAD 2.0 for a model that always answers.

        Raises:
            UserError: `version` is 1 and there are impossible questions.
        """
        if version == 1 and self.impossible:
            raise UserError(
                f"{self.path} looks like SQuAD 2.0: {self.impossible} of its "
                f"{self.questions} questions have no answer; pass --version=2."
            )

    def check_answers(self):
        """Refuses a file that cannot be trained on.

        Raises:
            UserError: it counts and names the wrong questions.
        """
        for what, action in (
            (MISPLACED, "correct answer_start"),
            (UNANSWERED, 'give "answers", or mark them with "is_impossible"'),
            (BLANK_ANSWER, "correct the text"),
        ):
            ids = self.notices.ids(what)
            if ids:
                raise UserError(
                    f"{self.path}: {what} in {counted(ids)} of {self.questions} "
                    f"({listed(ids)}); {action}, or leave them out with "
                    "--skip_bad_rows."
                )


def survey(path):
    """Reads a file, and counts its contents.

    Args:
        path: the file.

    Returns:
        A `Survey`.

    Raises:
        UserError: the file cannot be read, is no SQuAD, or has no question.
    """
    questions = answers = impossible = 0
    notices = Notices()
    paragraphs = tuple(read_paragraphs(path))
    for paragraph in paragraphs:
        for question in paragraph.questions:
            questions += 1
            answers += len(question.answers)
            impossible += question.is_impossible
            for what in oddities(question, paragraph.context):
                notices.add(what, question.id)
    if not questions:
        raise UserError(f"{path} holds no question.")
    return Survey(str(path), paragraphs, questions, answers, impossible, notices)


def oddities(question, context):
    """Yields a question's oddities, each once."""
    if not context.strip():
        yield BLANK_CONTEXT
    if not question.text.strip():
        yield BLANK_QUESTION
    if not question.answers and not question.is_impossible:
        yield UNANSWERED
    if any(not answer.text.strip() for answer in question.answers):
        yield BLANK_ANSWER
    if not all(answer.is_in(context) for answer in question.answers):
        yield MISPLACED


def can_be_learned(question, context):
    """Returns whether to train on a question: it has an answer, or surely none."""
    return {MISPLACED, UNANSWERED, BLANK_ANSWER}.isdisjoint(oddities(question, context))
