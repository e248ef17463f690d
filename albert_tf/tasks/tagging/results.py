"""The result files of tagging: predictions in the input's format, and errors."""

from albert_tf.display import html_page
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.tasks.tagging.schemes import tags_of
from albert_tf.tasks.tagging.sentences import columns_of

_FIELDS = ("label", "start", "end", "score")


def write_predictions(path, tag_file, found, scheme):
    """Writes predictions in the format of the input file.

    CoNLL lines get an additional column with the predicted tag, the format of
    conlleval; objects get the predicted `tags` or `spans`.

    Args:
        path: the file to write.
        tag_file: the `TagFile`.
        found: for each of its sentences a list of (type, first character, one after the
            last, score) of each entity.
        scheme: the scheme of the predicted tags.
    """
    lines = list(tag_file.lines)
    for sentence, own in zip(tag_file.sentences, found, strict=True):
        if tag_file.form == "spans":
            spans = [dict(zip(_FIELDS, entity, strict=True)) for entity in own]
            lines.append(_json({**sentence.source, "spans": spans}))
            continue
        entities = sentence.in_words(entity[:3] for entity in own)
        tags = tags_of(entities, len(sentence.bounds), scheme)
        if tag_file.form == "tokens":
            lines.append(_json({**sentence.source, "tags": tags}))
            continue
        for place, tag in zip(sentence.source, tags, strict=True):
            separator = "\t" if "\t" in lines[place] else " "
            lines[place] = separator.join([*columns_of(lines[place]), tag])
    write_atomically(path, "".join(f"{line}\n" for line in lines))


def _json(values):
    return json_text(values, indent=None).rstrip("\n")


def write_error_page(path, title, sentences, found, wrong_only=False):
    """Writes an HTML page of the sentences with missed or wrong entities.

    Args:
        path, title: the file and the title of the page.
        sentences: list of `Sentence`, with entities.
        found: see `write_predictions`.
        wrong_only: colour wrong entities only, as where each word is one.
    """
    articles = []
    for sentence, own in zip(sentences, found, strict=True):
        predicted = [entity[:3] for entity in own]
        if set(predicted) != set(sentence.entities):
            articles.append(_article(sentence, predicted, wrong_only))
    introduction = (
        f"{len(articles)} of {len(sentences)} sentences are not wholly right. In each: "
        f"{html_page.EXPECTED}, {html_page.ANSWERED}, {html_page.BOTH}."
    )
    html_page.write_page(path, title, introduction, articles)


def _article(sentence, predicted, wrong_only):
    gold = sentence.entities
    known, right = set(predicted), set(gold)
    missed = [entity for entity in gold if entity not in known]
    wrong = [entity for entity in predicted if entity not in right]
    facts = (
        f"<p>Expected: {_listed(sentence.text, missed)}<br>"
        f"Answered: {_listed(sentence.text, wrong)}</p>"
    )
    spans = {
        "gold": [entity[1:] for entity in (missed if wrong_only else gold)],
        "predicted": [entity[1:] for entity in (wrong if wrong_only else predicted)],
    }
    coloured = html_page.coloured(sentence.text, spans)
    return html_page.article("", sentence.id, facts, coloured)


def _listed(text, entities):
    shown = [
        html_page.isolated(f"{text[start:end]} ({label})")
        for label, start, end in entities
    ]
    return " | ".join(shown) or "<i>nothing else</i>"
