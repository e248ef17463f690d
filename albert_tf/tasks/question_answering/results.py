"""Writes an HTML page of the wrong answers, each in its paragraph."""

from albert_tf.display import html_page
from albert_tf.tasks.question_answering.scores import raw_scores

_LEGEND = (
    f" In each paragraph: {html_page.EXPECTED}, {html_page.ANSWERED}, {html_page.BOTH}."
)
_FACTS = "<p>Expected: {gold}<br>Answered: {answer}<br>F1: {f1:.1f}</p>"
_NO_ANSWER = "<i>no answer</i>"


def write_error_page(path, title, asked, predictions, version, threshold=None):
    """Writes an HTML page with every answer that is not an exact match.

    Args:
        path, title: the file and the title of the page.
        asked: the `QuestionFile`.
        predictions: a `Prediction` for each question.
        version: the SQuAD version, 1 or 2.
        threshold: minimum null odds of no answer, or None.
    """
    questions, contexts = asked.questions, asked.contexts
    texts = {p.question_id: p.answer(threshold) for p in predictions}
    scores = raw_scores(questions, texts, version)
    articles = [
        _article(question, context, prediction, threshold, scores[question.id][1])
        for question, context, prediction in zip(
            questions, contexts, predictions, strict=True
        )
        if not scores[question.id][0]
    ]
    introduction = (
        f"{len(articles)} of {len(questions)} answers are not exactly right."
        f"{_LEGEND if articles else ''}"
    )
    html_page.write_page(path, title, introduction, articles)


def _article(question, context, prediction, threshold, f1):
    answer = prediction.answer(threshold)
    gold_spans = [
        (a.start, a.start + len(a.text)) for a in question.answers if a.is_in(context)
    ]
    best = prediction.candidates[0]
    answer_spans = [(best.start, best.end)] if answer else []
    golds = dict.fromkeys(answer.text for answer in question.answers)
    facts = _FACTS.format(
        gold=" | ".join(map(html_page.isolated, golds)) or _NO_ANSWER,
        answer=html_page.isolated(answer) if answer else _NO_ANSWER,
        f1=100 * f1,
    )
    coloured = html_page.coloured(
        context, {"gold": gold_spans, "predicted": answer_spans}
    )
    return html_page.article(question.text, question.id, facts, coloured)
