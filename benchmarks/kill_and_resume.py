"""Kills a pretraining run (SIGKILL) many times, and compares it with one that was not.

  python -m benchmarks.kill_and_resume --kills=50 --output_dir=killed

It takes data, vocabulary and recipe of `make demo`, with small batches and many
checkpoints. Every kill comes a random moment after a run has begun to write a
checkpoint, so many kills interrupt the writing. The benchmark prints the steps of the
kills and the weights that differ: none, on a CPU with --deterministic.
"""

import dataclasses
import pathlib
import random
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
from absl import logging

from albert_tf import command_line
from albert_tf.command_line import option
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.progress import Progress

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_START_SECONDS = 300
_POLL_SECONDS = 0.002
# Several checkpoints are written in this time, and several loops run.
_LONGEST_DELAY = 0.2


@dataclasses.dataclass(frozen=True)
class KillOptions:
    """The flags of kill_and_resume."""

    output_dir: str = option("Folder for the two runs; must not exist.")
    kills: int = option("How often to kill.", 50, minimum=1)
    seed: int = option("Seed of the moments.", 0)
    num_train_steps: int = option("Steps of the run.", 3000, minimum=1)
    demo_dir: str = option("What make demo wrote.", "demo_output")


@dataclasses.dataclass(frozen=True)
class Report:
    """What came out."""

    directories: tuple
    """The run that was not killed and the one that was."""
    kill_steps: list
    """The newest checkpoint, by step, at every kill."""
    differing: list
    """Names of the weights of which any bit differs."""


def run(command, directory, kills, seed):
    """Runs run_pretraining.py undisturbed, and again with kills.

    Args:
        command: its flags, with --deterministic; --output_dir is replaced.
        directory: a folder, in which the two runs are made.
        kills: how many.
        seed: of the moments.

    Returns:
        A `Report`.

    Raises:
        UserError: the run fails, or ends before all kills.
    """
    command = [sys.executable, "run_pretraining.py", *command]
    whole, killed = (pathlib.Path(directory) / name for name in ("whole", "killed"))
    _finish([*command, f"--output_dir={whole}"])
    moments = random.Random(seed)
    kill_steps = []
    with Progress(kills, "kills", "killing") as progress:
        for done in range(kills):
            delay = moments.uniform(0, _LONGEST_DELAY)
            kill_steps.append(
                _kill([*command, f"--output_dir={killed}"], killed, delay)
            )
            progress.update(done + 1)
    _finish([*command, f"--output_dir={killed}"])
    return Report((whole, killed), kill_steps, _differing(whole, killed))


def _kill(command, directory, delay):
    """Starts the run, kills it `delay` seconds after it begins a checkpoint."""
    checkpoints = directory / "checkpoints"
    before = _names(checkpoints)
    with _started(command) as process:
        deadline = time.monotonic() + _START_SECONDS
        while _names(checkpoints) <= before:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                errors = process.stderr.read()
                raise UserError(f"The run ended before it was killed: {errors[-2000:]}")
            time.sleep(_POLL_SECONDS)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.stderr.read()
    if process.returncode != -signal.SIGKILL:
        raise UserError("The run was done before all kills; give it more steps.")
    saved = [path.stem for path in checkpoints.glob("training-*.index")]
    return max((int(name.removeprefix("training-")) for name in saved), default=0)


def _names(directory):
    """The files and folders of a folder, temporary ones too."""
    return {path.name for path in directory.glob("training-*")}


def _finish(command):
    with _started(command) as process:
        errors = process.stderr.read()
    if process.returncode:
        raise UserError(f"The run failed: {errors[-2000:]}")


def _started(command):
    return subprocess.Popen(command, cwd=_PROJECT, stderr=subprocess.PIPE, text=True)


def _differing(whole, killed):
    """Names of the arrays of the two models' weights that are not equal bit by bit."""
    weights = []
    for directory in (whole, killed):
        arrays = {}
        with h5py.File(directory / "model.weights.h5") as file:
            file.visititems(
                lambda name, item, arrays=arrays: (
                    arrays.__setitem__(name, item[()])
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
        weights.append(arrays)
    first, second = weights
    names = sorted(first.keys() | second.keys())
    return [
        name
        for name in names
        if name not in first
        or name not in second
        or not np.array_equal(first[name], second[name])
    ]


def main(options):
    """Runs `KillOptions` and prints what came out."""
    demo = pathlib.Path(options.demo_dir)
    recipe = read_json_object(_PROJECT / "configs" / "demo.json")["pretrain"]
    changes = {
        "input_file": demo / "data" / "train*.tfrecord",
        "spm_model_file": demo / "vocab" / "docstrings.model",
        "train_batch_size": 4,
        "num_train_steps": options.num_train_steps,
        "iterations_per_loop": 10,
        "save_checkpoints_steps": 10,
        "eval_steps": 0,
        "use_xla": False,
        "deterministic": True,
    }
    flags = [f"--{name}={value}" for name, value in {**recipe, **changes}.items()]
    report = run(flags, options.output_dir, options.kills, options.seed)
    logging.info("Killed at steps %s", report.kill_steps)
    print(f"{options.kills} kills, weights that differ: {report.differing or 'none'}")


if __name__ == "__main__":
    command_line.run(KillOptions, main)
