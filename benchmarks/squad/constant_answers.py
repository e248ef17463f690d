"""Answers that do not look at the question, which a model must beat."""

import collections
import itertools

from albert_tf.tasks.question_answering.scoring.scores import raw_scores
from albert_tf.tasks.question_answering.scoring.scores import version_1_figures

_FREQUENT = 30  # answers
_STARTS = (*range(10), 10, 15, 20, 30, 40)  # words
_LENGTHS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30)


def best_constants(learned, scored):
    """Returns the best of some constant strategies, chosen by their scores themselves.

    They are: one of the most frequent answers, and the words of the paragraph at a
    fixed place.

    Args:
        learned: iterable of `Paragraph`, whose answers are counted.
        scored: iterable of `Paragraph`.

    Returns:
        `{"exact_match": (the answer, per cent), "f1": …}`.
    """
    answers = collections.Counter(
        answer.text for p in learned for q in p.questions for answer in q.answers
    )
    scored = list(scored)
    questions = [question for p in scored for question in p.questions]
    figures = {
        name: version_1_figures(raw_scores(questions, texts, version=1))
        for name, texts in _strategies(answers, scored)
    }
    best = {}
    for metric in ("exact_match", "f1"):
        name = max(figures, key=lambda name: figures[name][metric])
        best[metric] = name, figures[name][metric]
    return best


def _strategies(answers, paragraphs):
    """Yields (name, answer of each question by id)."""
    for text, _ in answers.most_common(_FREQUENT):
        yield repr(text), {q.id: text for p in paragraphs for q in p.questions}
    for start, length in itertools.product(_STARTS, _LENGTHS):
        end = start + length
        texts = {}
        for paragraph in paragraphs:
            text = " ".join(paragraph.context.split()[start:end])
            texts |= {question.id: text for question in paragraph.questions}
        yield f"words {start + 1} to {end}", texts
