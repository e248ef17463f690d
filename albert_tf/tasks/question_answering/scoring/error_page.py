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
:root {{ color-scheme: light dark; --line: #bbb; --faint: #666; --gold: #b7e4c0;
        --predicted: #f6c1bd; --both: #f5e39a; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --line: #555; --faint: #aaa; --gold: #1f5a30; --predicted: #7a2e2a;
          --both: #6b5a10; }}
}}
body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em;
       overflow-wrap: anywhere; }}
article {{ border-top: 1px solid var(--line); padding: 0.5em 0; }}
h1 {{ font-size: 1.5em; }}
h2 {{ font-size: 1em; margin: 0.5em 0; }}
.id {{ color: var(--faint); font-weight: normal; }}
.context {{ white-space: pre-wrap; }}
mark {{ color: inherit; padding: 0.1em 0; }}
.gold {{ background: var(--gold); }}
.predicted {{ background: var(--predicted); text-decoration: underline dotted; }}
.gold.predicted {{ background: var(--both); }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{wrong} of {total} answers are not exactly right.{legend}</p>
{articles}
</body>
</html>
"""
_LEGEND = """ In each paragraph:
<mark class="gold">expected</mark>, <mark class="predicted">answered</mark>,
<mark class="gold predicted">both</mark>."""
_ARTICLE = """<article>
<h2><bdi>{question}</bdi> <span class="id">{identity}</span></h2>
<p>Expected: {gold}<br>Answered: {answer}<br>F1: {f1:.1f}</p>
<p class="context" dir="auto">{context}</p>
</article>"""
_TEXT, _NO_ANSWER = "<bdi>{}</bdi>", "<i>no answer</i>"


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
        legend=_LEGEND if articles else "",
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
    golds = dict.fromkeys(answer.text for answer in question.answers)
    return _ARTICLE.format(
        question=html.escape(question.text),
        identity=html.escape(question.id),
        gold=" | ".join(map(_isolated, golds)) or _NO_ANSWER,
        answer=_isolated(answer) if answer else _NO_ANSWER,
        f1=100 * f1,
        context=_coloured(context, {"gold": gold_spans, "predicted": answer_spans}),
    )


def _isolated(text):
    """The text as HTML; its direction does not turn what stands beside it."""
    return _TEXT.format(html.escape(text))


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
