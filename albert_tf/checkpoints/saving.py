"""Writes a model in each of the forms that are written."""

import os

from albert_tf.errors import UserError
from albert_tf.io.checksummed_folder import ChecksummedFolder

FORMATS = ("model_directory", "tf1", "huggingface")


def save_pretrained(model, directory, tokenizer, training_info, form):
    """`PretrainedModel.save_pretrained`."""
    if form not in FORMATS:
        raise UserError(f"format={form!r}: expected one of {', '.join(FORMATS)}.")
    # The code of a form is imported when one is written: `albert_tf.convert --help`
    # names the forms without TensorFlow.
    if form == "model_directory":
        from albert_tf.checkpoints.model_directory import save_model_directory

        if training_info is None:
            training_info = model.task_info()
        save_model_directory(model, directory, tokenizer, training_info)
        return
    with ChecksummedFolder(directory):
        if form == "tf1":
            from albert_tf.checkpoints.tf1 import BEST_CHECKPOINT
            from albert_tf.checkpoints.tf1 import save_tf1_checkpoint

            save_tf1_checkpoint(model, os.path.join(directory, BEST_CHECKPOINT))
        else:
            from albert_tf.checkpoints.huggingface import save_huggingface

            save_huggingface(model, directory)
        if tokenizer is not None:
            from albert_tf.tokenization.saving import save_for_others

            tokenizer = tokenizer.laid_out(model.config.row_layout)
            save_for_others(tokenizer, directory, form)
