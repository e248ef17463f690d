"""Exports a model directory as a SavedModel that TensorFlow Serving takes as it is.

  python -m albert_tf.serving.export --model_dir=out/model --export_dir=/models/sst-2

writes /models/sst-2/1 (the next free number): text in, answers out, with the tokenizer
inside the graph, warm-up requests, signature.json and model_card.md.
"""

import dataclasses
import json
import os
import pathlib
import shutil

import tensorflow as tf
from absl import logging

from albert_tf import command_line
from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.command_line import option
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.serving.description import describe_signatures
from albert_tf.serving.description import model_card
from albert_tf.serving.heads import HEADS
from albert_tf.serving.heads import head_name
from albert_tf.serving.masked_text_features import MASK_MARK
from albert_tf.serving.masked_text_features import MaskedTextFeatures
from albert_tf.serving.multi_head import multi_head
from albert_tf.serving.serving_module import ServingModule
from albert_tf.serving.text_features import TextFeatures
from albert_tf.serving.warmup import write_warmup_requests
from albert_tf.tasks.results import MODEL_DIR
from albert_tf.tasks.text_task import TextTask
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.in_graph import InGraphTokenizer

_SENTENCE = "it is a very good one ."


@dataclasses.dataclass(frozen=True)
class ExportOptions:
    """What to export and where."""

    model_dir: str = option(
        "Model directory, fine-tuned or pretrained; or several, joined by commas, that "
        "were fine-tuned with --freeze_encoder: their heads are served together."
    )
    export_dir: str = option("Directory of versions; its last part names the model.")
    task: str = option(
        "What to serve; auto: what the model was fine-tuned for, else the encoder.",
        "auto",
        ("auto", *HEADS),
    )
    max_seq_length: int | None = option(
        "Longest input in tokens; by default that of fine-tuning, else all positions.",
        None,
    )


def export(options):
    """Writes the next version of the SavedModel; see the module's docstring.

    Returns:
        The versioned directory, a `pathlib.Path`.

    Raises:
        UserError: no model or tokenizer in `model_dir`, or a task or length that does
            not fit the model.
    """
    module, head, facts = build_module(
        options.model_dir, options.task, options.max_seq_length
    )
    export_dir = pathlib.Path(options.export_dir)
    temporary = export_dir / f".exporting-{os.getpid()}"  # no version to a server
    temporary.mkdir(parents=True)
    try:
        _save(module, temporary)
        facts = {"name": export_dir.resolve().name, **facts}
        _describe(temporary, head, _example_requests(module, head), facts)
        target = export_dir / str(_next_version(export_dir))
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    logging.info("Exported %s to %s", options.model_dir, target)
    return target


def _save(module, directory):
    """Saves the module, without TensorFlow's remarks on names inside the graph."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        tf.saved_model.save(module, str(directory), signatures=module.signatures())
    finally:
        logging.set_verbosity(verbosity)


def build_module(model_dir, task="auto", max_seq_length=None):
    """The `ServingModule` of a model directory, its `Head`, and facts about them.

    Raises:
        UserError: as `export`.
    """
    model_dirs = str(model_dir).split(",")
    infos = [_training_info(directory) for directory in model_dirs]
    tokenizer = load_tokenizer(model_dirs[0])
    if len(model_dirs) == 1:
        head, facts = _single_head(model_dirs[0], infos[0], task, tokenizer)
    else:
        head, facts = _several_heads(model_dirs, infos)
    length = _length(head.config, infos, max_seq_length)
    special = {"cls_id": tokenizer.cls_id, "sep_id": tokenizer.sep_id}
    text_features = TextFeatures
    if head.name == "masked_lm":
        special["mask_id"] = tokenizer.mask_id
        text_features = MaskedTextFeatures
    features = text_features(
        InGraphTokenizer(tokenizer), **special, max_seq_length=length
    )
    facts = {**facts, "serves": head.name, "max_seq_length": length}
    return ServingModule(head, features), head, facts


def _single_head(model_dir, info, task, tokenizer):
    text_task = TextTask(**info["task"]) if "task" in info else None
    name = head_name(text_task) if task == "auto" else task
    if name in ("classification", "regression") and head_name(text_task) != name:
        raise UserError(
            f"--task={name} does not fit {model_dir}, which was not fine-tuned for it; "
            "leave --task out."
        )
    facts = {k: v for k, v in info.items() if not isinstance(v, list)}  # no histories
    return HEADS[name](model_dir, text_task, tokenizer), facts


def _several_heads(model_dirs, infos):
    """Names the heads by the last part of the directories that is their own."""
    tasks = {}
    for directory, info in zip(model_dirs, infos, strict=True):
        if "task" not in info:
            raise UserError(f"{directory} was not fine-tuned; export it by itself.")
        path = pathlib.Path(directory).resolve()
        name = path.parent.name if path.name == MODEL_DIR else path.name
        if name in tasks:
            raise UserError(f"Two of --model_dir are called {name!r}; rename one.")
        tasks[name] = TextTask(**info["task"])
    facts = {"tasks": {name: task.to_dict() for name, task in tasks.items()}}
    return multi_head(model_dirs, tasks), facts


def _training_info(model_dir):
    path = pathlib.Path(model_dir) / TRAINING_INFO_FILE
    return read_json_object(path) if path.exists() else {}


def _length(config, infos, max_seq_length):
    positions = config.max_position_embeddings
    length = max_seq_length or min(i.get("max_seq_length", positions) for i in infos)
    if not 5 <= length <= positions:
        raise UserError(
            f"--max_seq_length={length} must be from 5 to {positions}, the number of "
            "positions of the model."
        )
    return length


def _describe(saved_model_dir, head, examples, facts):
    """Loads what was saved, answers the example requests, writes what came out."""
    loaded = tf.saved_model.load(str(saved_model_dir))
    signatures = describe_signatures(loaded, examples, head.meaning)
    description = {**facts, "signatures": signatures}
    (saved_model_dir / "signature.json").write_text(
        json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    card = model_card(facts, signatures)
    (saved_model_dir / "model_card.md").write_text(card, encoding="utf-8")
    write_warmup_requests(saved_model_dir, facts["name"], examples.items())


def _example_requests(module, head):
    """One request for each signature, with the same content."""
    text = f"it is a very {MASK_MARK} one ." if head.name == "masked_lm" else _SENTENCE
    texts = {"text": [text.encode()]}
    if head.pair:
        texts["text_pair"] = [b"it is good ."]
    features = module.text_features(*map(tf.constant, texts.values()))
    tokens = {name: values.numpy() for name, values in features.items()}
    example = tf.train.Example()
    for name, values in tokens.items():
        example.features.feature[name].int64_list.value.extend(values[0].tolist())
    return {
        "serving_default": texts,
        "tokens": tokens,
        "examples": {"examples": [example.SerializeToString()]},
    }


def _next_version(export_dir):
    versions = [int(p.name) for p in export_dir.iterdir() if p.name.isdigit()]
    return max(versions, default=0) + 1


if __name__ == "__main__":
    command_line.run(ExportOptions, export)
