"""Converts a model between the official TF1, Hugging Face and our own form.

    albert-tf convert --from=albert_base_v2 --to=models/base
    albert-tf convert --from=models/base --to=exported --to_format=tf1

--from takes a model directory, an official archive or TF-Hub module (unpacked or not),
a TF1 checkpoint prefix, a Hugging Face directory, or a model to download:
hf://owner/name or the URL of an archive. The command also converts the tokenizer beside
the checkpoint. docs/checkpoints.md says more.
"""

import dataclasses
import os

import albert_tf
from albert_tf.checkpoints.flags import FORMATS
from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.io import storage
from albert_tf.tokenization.loading import is_tokenizer
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model

_AUTO = "auto"


@dataclasses.dataclass(frozen=True)
class ConvertOptions(ReadingFlags):
    """The flags of `albert-tf convert`."""

    # "from" is a Python keyword, so no field can have that name.
    source: str = option("Checkpoint to read.", aliases=("from",))
    to: str = option("Folder to write to.")
    to_format: str = option(
        "Form to write: a model directory of this project, an official TF1 "
        "checkpoint, or a Hugging Face directory.",
        "model_directory",
        FORMATS,
    )
    model_class: str = option(
        "Model class to build; auto takes the one whose heads the checkpoint has.",
        _AUTO,
        [_AUTO, *albert_tf.MODELS],
    )
    allow_missing: str = option(
        "Weights that the checkpoint may lack and that get random values: their "
        "official names, or the beginnings of these, separated by commas.",
        "",
    )
    do_lower_case: bool | None = option(
        "Lower the case of letters, where the tokenizer's own files do not say; by "
        "default for ALBERT's vocabularies and not for XLNet's.",
        None,
    )


@obeys_reading_flags
def convert(options):
    """Converts a checkpoint and prints the load report.

    Raises:
        UserError: there is no checkpoint, it does not fit the model, or `to` is not a
            valid target.
    """
    if options.to_format != "model_directory":
        _check_target(options)
    opened = albert_tf.bundle.open(options.source)
    model_class = None
    if options.model_class != _AUTO:
        model_class = registry.model_class(options.model_class)
    allow_missing = [part for part in options.allow_missing.split(",") if part]
    model = opened.model(model_class, allow_missing)
    is_as_saved = opened.saved and opened.saved[0] is type(model)
    tokenizer = _tokenizer_of(opened.path, options.do_lower_case)
    if tokenizer is not None:
        tokenizer = tokenizer_for_model(tokenizer, model.config, opened.path)
    info = opened.info if is_as_saved and opened.info else None
    model.save_pretrained(options.to, tokenizer, info, options.to_format)
    print(model.load_report)
    print(f"{type(model).__name__} written to {options.to}")
    if tokenizer is None:
        print(f"Found no tokenizer beside {options.source}; {options.to} has none.")


def _check_target(options):
    """Refuses a bucket, and a folder with another model that would be read instead."""
    storage.require_disk("to", options.to)
    hidden = is_model_directory(options.to) or (
        options.to_format == "tf1" and is_huggingface_directory(options.to)
    )
    if hidden:
        raise UserError(
            f"--to={options.to} holds a model directory (or a Hugging Face model), "
            "which would be read instead of what "
            f"--to_format={options.to_format} writes; name another folder."
        )


def _tokenizer_of(folder, do_lower_case):
    """Returns the tokenizer beside the checkpoint, or None."""
    if not storage.is_folder(folder):
        folder = os.path.dirname(folder) or "."
    places = [folder, os.path.join(folder, "assets")]
    if os.path.basename(os.path.abspath(folder)) == "variables":
        # A TF-Hub module keeps its vocabulary outside the checkpoint's folder.
        places.append(os.path.join(folder, "..", "assets"))
    for place in places:
        if storage.is_folder(place) and any(map(is_tokenizer, storage.names_in(place))):
            return read_tokenizer(place, do_lower_case)
    return None


def main(argv=None):
    """Runs the command."""
    run(ConvertOptions, convert, argv=argv)
