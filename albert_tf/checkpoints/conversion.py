"""From any form of checkpoint to any other; the command is `albert_tf.convert`."""

import dataclasses
import os

from albert_tf.checkpoints.huggingface import is_huggingface_directory
from albert_tf.checkpoints.loading import build_model
from albert_tf.checkpoints.loading import load_pretrained
from albert_tf.checkpoints.loading import read_checkpoint
from albert_tf.checkpoints.model_directory import is_model_directory
from albert_tf.checkpoints.model_directory import read_head
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.hub.names import local_directory
from albert_tf.io import storage
from albert_tf.tokenization.loading import is_tokenizer
from albert_tf.tokenization.loading import read_tokenizer
from albert_tf.tokenization.loading import tokenizer_for_model


def write_converted(options):
    """Converts a model as `albert_tf.convert.convert` describes.

    Args:
        options: its `ConvertOptions`; a `model_class` of None is the one whose heads
            the checkpoint holds.
    """
    _check_target(options)
    options = dataclasses.replace(options, source=local_directory(options.source))
    model, info = _read(options)
    tokenizer = _tokenizer_of(options)
    if tokenizer is not None:
        tokenizer = tokenizer_for_model(tokenizer, model.config, options.source)
    model.save_pretrained(options.to, tokenizer, info, options.to_format)
    print(model.load_report)
    print(f"{type(model).__name__} written to {options.to}")
    if tokenizer is None:
        print(f"Found no tokenizer beside {options.source}; {options.to} has none.")


def _check_target(options):
    """Refuses a target that could not be written, or not be read back."""
    if options.to_format == "model_directory":
        return
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


def _read(options):
    """Reads the model and, if a model directory's weights stay, its information."""
    name, source = options.model_class, options.source
    allow_missing = [part for part in options.allow_missing.split(",") if part]
    if not is_model_directory(source):
        checkpoint = read_checkpoint(source)
        auto = name is None
        model_class = checkpoint.model_class() if auto else registry.model_class(name)
        arguments = checkpoint.head_arguments(model_class)
        return build_model(model_class, checkpoint, allow_missing, arguments), None
    saved_class, _ = read_head(source)
    model_class = saved_class if name is None else registry.model_class(name)
    model = load_pretrained(model_class, source, {}, allow_missing)
    keeps_info = model_class is saved_class
    return model, (read_training_info(source) or None) if keeps_info else None


def _tokenizer_of(options):
    """Returns the tokenizer beside the checkpoint, or None."""
    folder = options.source
    if not storage.is_folder(folder):
        folder = os.path.dirname(folder) or "."
    places = [folder, os.path.join(folder, "assets")]
    if os.path.basename(os.path.abspath(folder)) == "variables":
        # Of a TF-Hub module, which has it beside the folder of its checkpoint.
        places.append(os.path.join(folder, "..", "assets"))
    for place in places:
        if storage.is_folder(place) and any(map(is_tokenizer, storage.names_in(place))):
            return read_tokenizer(place, options.do_lower_case)
    return None
