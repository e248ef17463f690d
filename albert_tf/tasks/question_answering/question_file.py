"""A file of questions in memory, as training, scores and predictions read it."""

import dataclasses

from absl import logging

from albert_tf.errors import UserError
from albert_tf.tasks.examples import Examples
from albert_tf.tasks.examples import digest_of
from albert_tf.tasks.question_answering.questions import read_paragraphs

_SHOWN = 5
MISPLACED = "an answer is not where its answer_start says"
UNANSWERED = "there is no answer, and is_impossible is not set"
BLANK_CONTEXT = "the paragraph has no visible text"
BLANK_QUESTION = "the question has no visible text"
BLANK_ANSWER = "an answer has no visible text"
_UNLEARNABLE = {
    MISPLACED: "correct answer_start",
    UNANSWERED: 'give "answers", or mark them with "is_impossible"',
    BLANK_ANSWER: "correct the text",
}
"""By oddity of questions that nothing can learn, the way to mend it."""


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
    def impossible(self):
        """Number of questions that are marked as having no answer."""
        return sum(question.is_impossible for question in self.questions)

    @property
    def version(self):
        """SQuAD's: 2 where a question is marked as impossible, otherwise 1."""
        return 2 if self.impossible else 1

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

    def notices(self):
        """Lists ids of questions by their oddities, as `note` does."""
        notices = {}
        for question, context in zip(self.questions, self.contexts, strict=True):
            for what in oddities(question, context):
                note(notices, what, question.id)
        return notices


def read_question_file(path):
    """Reads the `QuestionFile` of all questions of a file, whatever its use.

    Raises:
        UserError: the file cannot be read, is no SQuAD, or has no question.
    """
    found = QuestionFile(str(path), tuple(read_paragraphs(path)))
    if not len(found):
        raise UserError(f"{path} holds no question.")
    return found


def question_file(found, version, role="dev", skip_bad_rows=False):
    """Checks and completes the `QuestionFile` for a model of SQuAD 1.1 or 2.0.

    Args:
        found: the result of `read_question_file`.
        version: 1 or 2.
        role: the use of the questions; for "test" they need not have answers.
        skip_bad_rows: leave out questions that cannot be learned or scored.

    Raises:
        UserError: the file does not fit the version or the role.
    """
    if version == 1 and found.impossible:
        raise UserError(
            f"{found.path} looks like SQuAD 2.0: {found.impossible} of its "
            f"{len(found)} questions have no answer; pass --version=2."
        )
    kept, notices = dataclasses.replace(found, role=role), found.notices()
    if not skip_bad_rows:
        _check(kept, version, notices)
    for line in notice_lines(notices, () if kept.is_labelled else (UNANSWERED,)):
        logging.warning("%s: %s", found.path, line)
    if skip_bad_rows and kept.is_labelled:
        paragraphs = [_without_bad_rows(p, role, version) for p in found.paragraphs]
        kept = dataclasses.replace(kept, paragraphs=tuple(paragraphs))
    if not len(kept):
        raise UserError(f"{found.path} holds no usable question.")
    return dataclasses.replace(kept, num_skipped=len(found) - len(kept))


def _check(found, version, notices):
    """Refuses questions that cannot be learned, or not be scored."""
    path, count = found.path, len(found)
    for what, action in _UNLEARNABLE.items() if found.is_training else ():
        if ids := notices.get(what):
            raise UserError(
                f"{path}: {what} in {counted(ids)} of {count} ({listed(ids)}); "
                f"{action}, or leave them out with --skip_bad_rows."
            )
    ids = notices.get(UNANSWERED)
    if version == 1 and found.is_labelled and ids:
        raise UserError(
            f"{path} has no answer to {counted(ids)} of {count} ({listed(ids)}), which "
            "SQuAD 1.1 cannot score; add the answers, or leave the questions out with "
            "--skip_bad_rows."
        )


def _without_bad_rows(paragraph, role, version):
    def keep(question):
        if role == "train":
            return can_be_learned(question, paragraph.context)
        return version == 2 or question.answers

    return dataclasses.replace(
        paragraph, questions=tuple(filter(keep, paragraph.questions))
    )


def note(notices, what, question_id):
    """Adds a question to the ids of those for which `what` is so, a dict of lists."""
    notices.setdefault(what, []).append(question_id)


def notice_lines(notices, expected=()):
    """Writes a line for each kind: "there is no answer: 2 questions (a, b)".

    Args:
        notices: ids of questions by what was noted of them.
        expected: kinds that are not odd here, and left out.
    """
    return [
        f"{what}: {counted(ids)} ({listed(ids)})"
        for what, ids in notices.items()
        if what not in expected
    ]


def counted(ids):
    """Writes "1 question", "2 questions" …"""
    return f"{len(ids)} question{'s' if len(ids) != 1 else ''}"


def listed(ids):
    """Lists the first ids, and the number of the others."""
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more


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
    return _UNLEARNABLE.keys().isdisjoint(oddities(question, context))
