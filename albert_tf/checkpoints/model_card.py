"""The model card, `README.md`, of folders that other people open.

Its header is that of the Hugging Face Hub, YAML of which JSON is a part. What is not
known is left out.
"""

import dataclasses
import json
import math
import os
import re

from albert_tf.families.readable import family_that_writes
from albert_tf.io import storage
from albert_tf.io.files import write_atomically

CARD = "README.md"
MARK = "<!-- albert-tf writes this file anew while this line is in it. -->"
_BY_KIND = {
    "single_label": ("text-classification", "gives {text} one of the labels {labels}"),
    "multi_label": (
        "text-classification",
        "gives {text} any number of the labels {labels}",
    ),
    "regression": ("text-classification", "gives {text} a number"),
    "tagging": ("token-classification", "gives each word one of the tags {labels}"),
    "squad_v1": ("question-answering", "finds the answer to a question in a text"),
    "squad_v2": (
        "question-answering",
        "finds the answer to a question in a text, or says that it has none",
    ),
    "multiple_choice": ("multiple-choice", "chooses among answers to a question"),
    "similarity": (
        "sentence-similarity",
        "turns a text into a vector; the cosine of two says how alike they are",
    ),
    "masked_lm": ("fill-mask", "guesses hidden words of a text"),
    "encoder": ("feature-extraction", "turns each token of a text into a vector"),
    "replaced_tokens": (None, "says which words of a text were replaced"),
}
_UNKNOWN = (None, "has a head of its own")
# By the purpose of a model.
_KINDS = {
    "pretraining": "masked_lm",
    "text_classification": "single_label",
    "token_classification": "tagging",
}
_AUTO_CLASSES = {
    "feature-extraction": "AutoModel",
    "fill-mask": "AutoModelForMaskedLM",
    "multiple-choice": "AutoModelForMultipleChoice",
    "question-answering": "AutoModelForQuestionAnswering",
    "text-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
}
_MOST_LABELS = 20  # in words
_DOWNLOADED = re.compile(r"models--([\w.-]+?)--([\w.-]+)[/\\]snapshots[/\\]")


@dataclasses.dataclass(frozen=True)
class Told:
    """Facts about a model that only its user knows, for its card.

    Attributes:
        license: a license of the Hub's list, such as "apache-2.0".
        language: codes such as "en", separated by commas.
        datasets: names of data sets of the Hub, separated by commas.
    """

    license: str | None = None
    language: str | None = None
    datasets: str | None = None


def in_words(kind, task):
    """Says what a model does, without a subject, such as "gives a text a number".

    Args:
        kind: of a task, or the `purpose` of a model without one.
        task: dict of the task's fields.
    """
    labels = [*map(str, task.get("labels") or [])]
    shown = ", ".join(labels[:_MOST_LABELS])
    if len(labels) > _MOST_LABELS:
        shown += f" and {len(labels) - _MOST_LABELS} more"
    text = "a pair of texts" if task.get("pair") else "a text"
    _, words = _of_kind(kind)
    return words.format(text=text, labels=shown or "of its configuration")


def _of_kind(kind):
    return _BY_KIND.get(_KINDS.get(kind, kind), _UNKNOWN)


def write_card(directory, model, info, form, told=None, name=None):
    """Writes the card of a folder, unless somebody else wrote one.

    Args:
        directory: the folder.
        model, info, form: see `model_card`.
        told: a `Told`. Without it, a model directory gets no card, and loses one that
            this project wrote for an earlier model.
        name: see `model_card`; by default the folder's.
    """
    path = os.path.join(directory, CARD)
    is_there = storage.exists(path)
    if is_there and MARK.encode() not in storage.read_bytes(path):
        return
    if form != "model_directory" or told:
        name = name or os.path.basename(os.path.abspath(directory))
        card = model_card(model, info, form, told or Told(), name)
        write_atomically(path, card.encode())
    elif is_there:
        storage.remove_file(path)


def model_card(model, info, form, told, name):
    """Returns the text of a card.

    Args:
        model: a `PretrainedModel`.
        info: dict of its task, scores and origin, as in `training_info.json`.
        form: the form in which the model is saved, one of `FORMATS`.
        told: a `Told`.
        name: "owner/name", or the name of a folder.
    """
    task = {"labels": getattr(model, "labels", None), **info.get("task", {})}
    kind = task.get("kind") or getattr(model, "label_kind", None) or model.purpose
    pipeline, _ = _of_kind(kind)
    header = {
        "language": _several(told.language),
        "license": told.license,
        "library_name": _library(pipeline, form),
        "pipeline_tag": pipeline,
        "base_model": _base_model(info),
        "datasets": _several(told.datasets),
        "tags": ["albert-tf", family_that_writes(model).huggingface_type],
        "model-index": _index(name, pipeline, task, info),
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in header.items() if value]
    length = info.get("max_seq_length") or model.config.max_position_embeddings
    size = f"{model.count_params():,} parameters"
    longest = f", texts of up to {length} tokens" if length else ""
    parts = [
        f"# {name}",
        f"A model that {in_words(kind, task)} ({size}{longest}), written by albert-tf.",
        "## Use",
        *_samples(model, pipeline, form, name),
        *_scores(info),
    ]
    return "\n".join(["---", *lines, "---", MARK, "", "\n\n".join(parts), ""])


def _library(pipeline, form):
    if form != "huggingface":
        return "albert-tf"
    is_similarity = pipeline == "sentence-similarity"
    return "sentence-transformers" if is_similarity else "transformers"


def _several(names):
    return [name.strip() for name in names.split(",")] if names else None


def _base_model(info):
    """Returns the repository that a model started from, if it was one."""
    match = _DOWNLOADED.search(str(info.get("init_checkpoint")))
    return f"{match[1]}/{match[2]}" if match else None


def _numbers(info):
    scores = info.get("dev")
    pairs = scores.items() if isinstance(scores, dict) else ()
    numbers = {n: v for n, v in pairs if isinstance(v, int | float)}
    return {n: round(v, 4) for n, v in numbers.items() if math.isfinite(v)}


def _index(name, pipeline, task, info):
    """Returns the Hub's `model-index` of the scores on dev data; None without any."""
    numbers = _numbers(info)
    if not (numbers and pipeline):
        return None
    data = task.get("name") or "custom"
    result = {
        "task": {"type": pipeline},
        "dataset": {"name": f"{data}, dev", "type": data},
        "metrics": [{"type": n, "value": value} for n, value in numbers.items()],
    }
    return [{"name": name, "results": [result]}]


def _scores(info):
    rows = [f"| {name} | {value} |" for name, value in _numbers(info).items()]
    if not rows:
        return []
    table = ["| score | value |", "|---|---:|", *rows]
    return ["## Scores on dev data", "\n".join(table)]


def _samples(model, pipeline, form, name):
    """Yields the code that opens the folder, by library."""
    family, trusted, loaded = family_that_writes(model), "", {}
    opens = family.architecture(model.huggingface_architecture())
    if family.program_files:
        trusted = ", trust_remote_code=True"
        opens = _AUTO_CLASSES.get(pipeline, "AutoModel")
    if form == "huggingface" and pipeline == "sentence-similarity":
        loaded["sentence_transformers"] = f'SentenceTransformer("{name}"{trusted})'
    elif form == "huggingface":
        loaded["transformers"] = f'{opens}.from_pretrained("{name}"{trusted})'
    place = f"hf://{name}" if "/" in name else name
    loaded["albert_tf"] = f'{type(model).__name__}.from_pretrained("{place}")'
    for library, call in loaded.items():
        yield f"```python\nimport {library}\n\nmodel = {library}.{call}\n```"
