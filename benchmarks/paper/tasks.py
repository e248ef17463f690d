"""Scores beyond the loss: minimal pairs, and GLUE after a few steps."""

import functools

from albert_tf.io.files import read_json_object
from albert_tf.tasks.classification.glue import glue_task
from benchmarks.pretraining_gain import read_results
from benchmarks.pretraining_gain import run_module

_PAIRS = "minimal pairs"
_PAIRS_PER_SET = 50
_GLUE = ("sst-2", "cola")
_FINE_TUNING = {
    "train_step": 200,
    "warmup_step": 20,
    "save_checkpoints_steps": 200,
    "train_batch_size": 32,
    "eval_batch_size": 64,
    "max_seq_length": 64,
    "optimizer": "adamw",
    "learning_rate": 5e-4,
}


def chosen(flags):
    """Returns the scores that `RunFlags` name data for, by their names.

    Each is a function of a run's folder, a seed and the beginning of printed lines.
    """
    judges = {}
    if flags.blimp_dir:
        judges[_PAIRS] = functools.partial(_pairs, flags.blimp_dir)
    if flags.glue_dir:
        for name in _GLUE:
            judges[name] = functools.partial(_glue, flags.glue_dir, name)
    return judges


def names():
    """Lists the names of all scores."""
    return (_PAIRS, *_GLUE)


def _pairs(data, folder, seed, label):
    path = folder / "minimal_pairs.json"
    flags = {
        "model_dir": folder,
        "input_file": data,
        "output_file": path,
        "pairs_per_set": _PAIRS_PER_SET,
    }
    run_module("albert_tf minimal-pairs", flags, label)
    return read_json_object(path)["overall"]


def _glue(data, name, folder, seed, label):
    metric = glue_task(name).metrics[0]
    flags = {
        "task_name": name,
        "data_dir": data,
        "init_checkpoint": folder,
        "output_dir": folder / name,
        "random_seed": seed,
        "do_train": True,
        "do_eval": True,
        **_FINE_TUNING,
    }
    run_module("run_classifier", flags, label)
    found = read_results(folder / name)
    return found[metric if metric in found else f"eval_{metric}"]
