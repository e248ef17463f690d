"""JSONL, or Parquet: an object a line, of words with tags or of a text with spans.

{"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}
{"text": "EU rejects", "spans": [{"start": 0, "end": 2, "label": "ORG"}]}

A file has one of the two forms. `tags` and `spans` may lack in a file to predict. Other
members stay as they are in files of predictions.
"""

from albert_tf.io.table_rows import read_rows
from albert_tf.tasks.tagging.reading.sentences import sentence_of_text
from albert_tf.tasks.tagging.reading.sentences import sentence_of_words
from albert_tf.tasks.tagging.schemes import cleaned_tag

MEMBERS = {"tokens": "tags", "spans": "spans"}
"""By form, the member that holds the entities."""


def first_object(path):
    """Reads the first object of a file; {} if there is none.

    Raises:
        UserError: the file cannot be read.
    """
    objects = (fields for _, fields in read_rows(path) if isinstance(fields, dict))
    return next(objects, {})


def read_jsonl(path, form, with_tags, scheme):
    """Yields (where, (`Sentence`, its tags) or ValueError, ()) of a file.

    Tags are None with the form "spans".

    Args:
        path: the file.
        form: a key of `MEMBERS`.
        with_tags: whether there are tags or spans.
        scheme: the scheme of the tags, or None if it is to be found.
    """
    read = _of_text if form == "spans" else _of_tokens
    for where, fields in read_rows(path):
        found = fields
        if not isinstance(fields, ValueError):
            try:
                found = read(where, fields, with_tags, scheme)
            except ValueError as error:
                found = error
        yield where, found, ()


def _of_tokens(where, fields, with_tags, scheme):
    tokens, tags = _list(fields, "tokens"), None
    if with_tags:
        tags = _list(fields, "tags")
        for tag in tags:
            if not isinstance(tag, str):
                raise ValueError(f"the tag {tag!r} is not a text, such as B-PER")
        tags = [cleaned_tag(tag, scheme) for tag in tags]
    return sentence_of_words(where, tokens, tags, fields, scheme), tags


def _of_text(where, fields, with_tags, scheme):
    spans = _list(fields, "spans") if with_tags else None
    return sentence_of_text(where, fields.get("text"), spans, fields), None


def _list(fields, name):
    if not isinstance(fields.get(name), list):
        raise ValueError(f"{name} is {fields.get(name)!r}, expected a list")
    return fields[name]
