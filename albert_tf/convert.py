"""Converts a model between the official TF1, Hugging Face and our own form.

    python -m albert_tf.convert --from=albert_base_v2 --to=models/base
    python -m albert_tf.convert --from=models/base --to=exported --to_format=tf1

--from takes a model directory, an unpacked official archive or TF-Hub module, a
TF1 checkpoint prefix, or a Hugging Face directory. The tokenizer beside the
checkpoint goes along.
"""

import dataclasses
import os
import re
import sys

import albert_tf
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.checkpoints.tf1 import BEST_CHECKPOINT
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.command_line import option
from albert_tf.command_line import run
from albert_tf.files import write_atomically

_AUTO = "auto"
_MODEL_CLASSES = (
    "AlbertModel",
    "AlbertForPreTraining",
    "AlbertForSequenceClassification",
)
# Where the others look for a SentencePiece model.
_SENTENCEPIECE_NAMES = {"tf1": "30k-clean.model", "huggingface": "spiece.model"}


@dataclasses.dataclass(frozen=True)
class ConvertOptions:
    """The flags of `python -m albert_tf.convert`."""

    source: str = option("Checkpoint to read; --from means the same.")
    to: str = option("Directory to write.")
    to_format: str = option(
        "What to write: our model directory, official TF1 names, or Hugging Face.",
        "model_directory",
        choices=["model_directory", "tf1", "huggingface"],
    )
    model_class: str = option(
        "Model to build; auto takes the one whose heads the checkpoint holds.",
        _AUTO,
        choices=[_AUTO, *_MODEL_CLASSES],
    )
    allow_missing: str = option(
        "Official names, or beginnings of names, separated by commas, that the "
        "checkpoint may lack; they get random values.",
        "",
    )
    do_lower_case: bool = option(
        "Casing of a tokenizer that does not record its own.", True
    )


def convert(options):
    """Converts as the flags say, and prints the report of the loading.

    Raises:
        UserError: there is no checkpoint, or it does not fit the model.
    """
    checkpoint = read_checkpoint(options.source)
    name = options.model_class
    if name == _AUTO:
        name = _model_class_of(checkpoint)
    allow_missing = [part for part in options.allow_missing.split(",") if part]
    model = build_model(getattr(albert_tf, name), checkpoint, allow_missing, {})
    tokenizer = _tokenizer_of(options)
    if options.to_format == "model_directory":
        model.save_pretrained(options.to, tokenizer=tokenizer)
    elif options.to_format == "tf1":
        save_tf1_checkpoint(model, os.path.join(options.to, BEST_CHECKPOINT))
    else:
        save_huggingface(model, options.to)
    if tokenizer is not None and options.to_format in _SENTENCEPIECE_NAMES:
        _write_tokenizer(tokenizer, options)
    print(model.load_report)
    print(f"{name} written to {options.to}")


def _model_class_of(checkpoint):
    names = checkpoint.tensors
    if any(name.startswith("cls/") for name in names):
        return "AlbertForPreTraining"
    if "output_weights" in names:
        return "AlbertForSequenceClassification"
    return "AlbertModel"


def _tokenizer_of(options):
    """The tokenizer beside the checkpoint, or None."""
    folder = options.source
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    names = os.listdir(folder or ".")
    if not any(name == "vocab.txt" or name.endswith(".model") for name in names):
        return None
    return albert_tf.load_tokenizer(folder, options.do_lower_case)


def _write_tokenizer(tokenizer, options):
    name = tokenizer.file_name
    if tokenizer.kind == "sentencepiece":
        name = _SENTENCEPIECE_NAMES[options.to_format]
    path = os.path.join(options.to, name)
    write_atomically(path, tokenizer.file_bytes)


def main(argv=None):
    """The command line."""
    # "from" is a keyword, so no field can have that name.
    argv = sys.argv if argv is None else argv
    argv = [re.sub(r"^--?from(?==|$)", "--source", argument) for argument in argv]
    run(ConvertOptions, convert, argv=argv)


if __name__ == "__main__":
    main()
