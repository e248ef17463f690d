"""Writes a model in each of its forms, and leaves no other model beside it."""

import itertools
import os

from absl import logging

from albert_tf.checkpoints import sentence_transformers
from albert_tf.checkpoints.flags import FORMATS
from albert_tf.checkpoints.huggingface import CONFIG_FILE
from albert_tf.checkpoints.huggingface import WEIGHTS_FILE as HUGGINGFACE_WEIGHTS
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.checkpoints.model_directory import HEAD_FILE
from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.checkpoints.model_directory import WEIGHTS_FILE
from albert_tf.checkpoints.model_directory import save_model_directory
from albert_tf.checkpoints.tf1 import BEST_CHECKPOINT
from albert_tf.checkpoints.tf1 import ENDINGS
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.families.roberta import readable_families
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import replacing
from albert_tf.tokenization.saving import save_for_others
from albert_tf.tokenization.saving import saved_files
from albert_tf.tokenization.tokenizer import was_saved_alone

# By form, in the order in which a folder is searched for them, the files without which
# there is no model of that form, its weights last.
_SEARCHED = {
    "model_directory": (WEIGHTS_FILE,),
    "huggingface": (CONFIG_FILE, HUGGINGFACE_WEIGHTS),
    "tf1": tuple(f"{BEST_CHECKPOINT}.{ending}" for ending in ENDINGS),
}
# No other program writes files of these names.
_ONLY_OURS = {HEAD_FILE, TRAINING_INFO_FILE}


def save_pretrained(model, directory, tokenizer, training_info, form):
    """Saves as `PretrainedModel.save_pretrained`."""
    if form not in FORMATS:
        raise UserError(f"format={form!r}: expected one of {', '.join(FORMATS)}.")
    if form != "model_directory":
        model.require_official_head(form)
    directory = os.fspath(directory)
    _refuse_hidden(directory, form)
    vocabulary = _vocabulary_that_goes(directory, model, tokenizer)

    def is_stale(name, is_listed):
        return name in _ONLY_OURS or (is_listed and name in _parts() | vocabulary)

    with replacing(directory, is_stale) as folder:
        _write(model, folder, tokenizer, training_info, form)


def _write(model, directory, tokenizer, training_info, form):
    if form == "model_directory":
        if training_info is None:
            training_info = model.task_info()
        save_model_directory(model, directory, tokenizer, training_info)
        return
    with ChecksummedFolder(directory):
        if form == "tf1":
            save_tf1_checkpoint(model, os.path.join(directory, BEST_CHECKPOINT))
        else:
            save_huggingface(model, directory)
        if tokenizer is not None:
            tokenizer = tokenizer.laid_out(model.config.row_layout)
            save_for_others(tokenizer, directory, form)


def _parts():
    """Lists the files of a model of any form, beside its vocabulary.

    Where others have put files of these names, no checksum names them, and they stay.
    """
    configs = [family.config_file for family in readable_families()]
    return {
        *itertools.chain(*_SEARCHED.values()),
        *configs,
        *sentence_transformers.FILES,
    }


def _refuse_hidden(directory, form):
    """Refuses a folder with somebody's model that would be read instead.

    Raises:
        UserError: it names the weights.
    """
    listed = checksums.read(directory)
    for other, names in _SEARCHED.items():
        if other == form:
            return
        paths = [os.path.join(directory, name) for name in names]
        if names[-1] not in listed and all(map(storage.exists, paths)):
            raise UserError(
                f"{paths[-1]} would be read instead of a model in the form {form} that "
                "is saved beside it; choose another folder."
            )


def _vocabulary_that_goes(directory, model, tokenizer):
    """Lists the vocabulary's files that `directory` should not keep.

    Without a new one, it keeps that which was saved there by itself, or which the model
    was loaded with.
    """
    names = saved_files(directory)
    if tokenizer is not None or not names:
        return names
    report = getattr(model, "load_report", None)
    is_from_there = report and storage.is_same(report.source, directory)
    if is_from_there or was_saved_alone(directory):
        return set()
    logging.warning(
        "%s: %s, of the model that was there, is removed; pass tokenizer= to save the "
        "vocabulary of this one.",
        directory,
        " and ".join(sorted(names)),
    )
    return names
