"""The best model of a pretraining run, kept beside its checkpoints."""

import os

from albert_tf.io import storage


def save_best_model(model, directory, step, tokenizer, info):
    """Writes the model directory `best-<step>`, and then removes earlier ones.

    Args:
        model: an `AlbertForPreTraining`.
        directory: where it is to lie.
        step: optimizer steps done.
        tokenizer: saved beside the weights.
        info: a dict for `training_info.json`.
    """
    path = os.path.join(directory, f"best-{step}")
    temporary = f"{path}.tmp"
    storage.remove_folder(temporary)
    model.save_pretrained(temporary, tokenizer, info)
    storage.replace_folder(temporary, path)
    for other in storage.matching(directory, "best-*"):
        if other != path:
            storage.remove_folder(other)
