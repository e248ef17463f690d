"""A page of the wrong answers, each in its paragraph."""

import html

from albert_tf.files import write_atomically
from albert_tf.tasks.question_answering.scoring.scores import raw_scores

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em;
       color: #222; background: #fff; }}
article {{ border-top: 1px solid #bbb; padding: 0.5em 0; }}
h2 {{ font-size: 1em; margin: 0.5em 0; }}
.id {{ color: #666; font-weight: normal; }}
.context {{ white-space: pre-wrap; }}
mark {{ color: inherit; padding: 0.1em 0; }}
.gold {{ background: #b7e4c0; }}
.predicted {{ background: #f6c1bd; }}
.gold.predicted {{ background: #f5e39a; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{wrong} of {total} answers are not exactly right. In each paragraph:
<mark class="gold">expected</mark>, <mark class="predicted">answered</mark>,
<mark class="gold predicted">both</mark>.</p>
{articles}
</body>
</html>
"""
_ARTICLE = """<article>
<h2>{question} <span class="id">{identity}</span></h2>
<p>Expected: {gold}<br>Answered: {answer}<br>F1: {f1:.1f}</p>
<p class="context" dir="auto">{context}</p>
</article>"""
_NO_ANSWER = "<i>no answer</i>"


def write_error_page(
    path, title, questions, contexts, predictions, version, threshold=None
):
    """Writes an HTML page with every answer that is not an exact match.

    Args:
        path: the file.
        title: what was scored.
        questions: list of `Question`, with answers or without one.
        contexts: the text of each question's paragraph.
        predictions: a `Prediction` for each question.
        version: 1 or 2, of SQuAD.
        threshold: null odds from which on the answer is none, or None.
    """
    texts = {p.question_id: p.answer(threshold) for p in predictions}
    scores = raw_scores(questions, texts, version)
    articles = [
        _article(question, context, prediction, threshold, scores.f1[question.id])
        for question, context, prediction in zip(
            questions, contexts, predictions, strict=True
        )
        if not scores.exact[question.id]
    ]
    page = _PAGE.format(
        title=html.escape(title),
        wrong=len(articles),
        total=len(questions),
        articles="\n".join(articles),
    )
    write_atomically(path, page)


def _article(question, context, prediction, threshold, f1):
    answer = prediction.answer(threshold)
    gold_spans = [
        (a.start, a.start + len(a.text)) for a in question.answers if a.is_in(context)
    ]
    best = prediction.candidates[0]
    # A text such as "empty" stands nowhere.
    shown = answer and context[best.start : best.end] == answer
    answer_spans = [(best.start, best.end)] if shown else []
    golds = dict.fromkeys(html.escape(answer.text) for answer in question.answers)
    return _ARTICLE.format(
        question=html.escape(question.text),
        identity=html.escape(question.id),
        gold=" | ".join(golds) or _NO_ANSWER,
        answer=html.escape(answer) or _NO_ANSWER,
        f1=100 * f1,
        context=_coloured(context, {"gold": gold_spans, "predicted": answer_spans}),
    )


def _coloured(context, spans):
    """The text as HTML, with each stretch marked by the classes whose spans it is in.

    Args:
        context: the text.
        spans: (start, end) in characters, a list by class.
    """
    borders = {border for found in spans.values() for span in found for border in span}
    borders = sorted(borders | {0, len(context)})
    parts = []
    for start, end in zip(borders[:-1], borders[1:], strict=True):
        text = html.escape(context[start:end])
        classes = [
            name
            for name, found in spans.items()
            if any(first <= start and end <= last for first, last in found)
        ]
        parts.append(
            f'<mark class="{" ".join(classes)}">{text}</mark>' if classes else text
        )
    return "".join(parts)
