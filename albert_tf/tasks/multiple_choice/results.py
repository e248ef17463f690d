"""The result files of multiple choice."""

import html

from albert_tf.display import html_page
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically


def write_predictions(path, questions, probabilities):
    """Writes a JSON line for each question: id, choice, its text, probabilities.

    Args:
        path: the file.
        questions: list of `Question`.
        probabilities: `[N, choices]`; of those beyond a question's options nothing is
            written.
    """
    lines = []
    for question, row in zip(questions, probabilities, strict=True):
        choice = int(row.argmax())
        found = {
            "id": question.id,
            "choice": choice,
            "answer": question.options[choice],
            "probabilities": row[: len(question.options)].tolist(),
        }
        lines.append(json_text(found, indent=None))
    write_atomically(path, "".join(lines))


def write_error_page(path, title, questions, probabilities):
    """Writes an HTML page of the questions whose most probable option is wrong.

    Args:
        path: the file.
        title: the name of the scored data.
        questions: list of `Question`, with labels.
        probabilities: `[N, choices]`.
    """
    articles = [
        _article(question, row)
        for question, row in zip(questions, probabilities, strict=True)
        if row.argmax() != question.label
    ]
    introduction = (
        f"{len(articles)} of {len(questions)} answers are wrong. Among the options: "
        f"{html_page.EXPECTED}, {html_page.ANSWERED}."
    )
    html_page.write_page(path, title, introduction, articles)


def _article(question, probabilities):
    by_class = {"gold": question.label, "predicted": probabilities.argmax()}
    items = []
    for place, option in enumerate(question.options):
        classes = [name for name, own in by_class.items() if own == place]
        text = html_page.marked(option, classes)
        items.append(f"<li>{text} {probabilities[place]:.3f}</li>")
    return html_page.article(
        question.text,
        question.id,
        '<ol type="A">' + "".join(items) + "</ol>",
        html.escape(question.context),
    )
