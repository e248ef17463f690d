"""Scores of several seeds, fine-tuned from pretrained and from random weights."""

import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys

from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.io.files import write_atomically
from albert_tf.optimizers import OPTIMIZERS
from albert_tf.tokenization import load_tokenizer
from benchmarks.measuring import figures
from benchmarks.measuring import kept_runs

_ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where runs lie, which does not change them.
_PLACES = ("output_dir", "cached_dir")
_STARTS = ("pretrained", "from scratch")
_COLUMNS = ("task, metric", "model", "start")
_COLUMNS += ("median", "least–greatest", "last checkpoint")


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuningFlags:
    """The flags of a benchmark that each of its runs is given, too."""

    num_runs: int = option("Number of seeds of each model and task.", 3, minimum=1)
    train_step: int = option("Number of training steps in each run.", 600, minimum=1)
    train_batch_size: int = option("Number of rows in a batch.", 32, minimum=1)
    optimizer: str = option(
        "Optimizer that updates the weights.", "lamb", tuple(sorted(OPTIMIZERS))
    )
    learning_rate: float = option(
        "Learning rate at the end of the warm-up.", 2e-3, minimum=0
    )
    max_seq_length: int = option(
        "Largest length of an input, in tokens.", 64, minimum=5
    )
    albert_dropout_prob: float | None = option(
        "Dropout within the model, instead of its configuration's.",
        None,
        minimum=0,
    )

    def passed_on(self):
        """Returns `{flag: value}` of the flags that have a value."""
        values = {**vars(group_of(FineTuningFlags, self)), "eval_batch_size": 64}
        return {name: value for name, value in values.items() if value is not None}


def compare(script, task_name, model_dirs, output_dir, flags):
    """Fine-tunes each model from its weights and from random ones; keeps finished runs.

    Yields the name of each model, the start, and the results of each seed.
    """
    output_dir = pathlib.Path(output_dir)
    flags = {
        **flags,
        "cached_dir": output_dir / "cache",
        "warmup_step": flags["train_step"] // 10,
        "save_checkpoints_steps": max(flags["train_step"] // 3, 1),
        "do_train": True,
        "do_eval": True,
    }
    for model_dir in map(pathlib.Path, map(local_directory, model_dirs.split(","))):
        for start in _STARTS:
            name = f"{task_name}_{model_dir.name}_{start.replace(' ', '_')}"
            folder = output_dir / name
            own = _start_flags(model_dir, start)
            runs = _runs(script, {**flags, **own, "output_dir": folder})
            yield model_dir.name, start, runs


def score_cells(runs, metric, digits, reported=None):
    """Returns median, range and the last checkpoint's median of a metric."""
    best = sorted(run[reported or metric] for run in runs)
    last = sorted(run[f"last_{metric}"] for run in runs)
    return [
        f"{statistics.median(best):.{digits}f}",
        f"{best[0]:.{digits}f}–{best[-1]:.{digits}f}",
        f"{statistics.median(last):.{digits}f}",
    ]


def write_table(output_dir, rows):
    """Writes results.md, of rows of text, and prints it."""
    table = "\n".join(figures.markdown(_COLUMNS, rows)) + "\n"
    write_atomically(pathlib.Path(output_dir) / "results.md", table)
    print(table, end="")


def _start_flags(model_dir, start):
    if start == "pretrained":
        return {"init_checkpoint": model_dir}
    tokenizer = load_tokenizer(model_dir)
    kinds = {"sentencepiece": "spm_model_file", "wordpiece": "vocab_file"}
    return {
        "from_scratch": True,
        "albert_config_file": model_dir / "albert_config.json",
        kinds[tokenizer.kind]: model_dir / tokenizer.file_name,
        "do_lower_case": tokenizer.do_lower_case,
    }


def run_module(name, flags, label=""):
    """Runs a command in a process of its own, until it ends."""
    command = [sys.executable, "-m", *name.split()]
    command += [f"--{flag}={value}" for flag, value in flags.items()]
    paths = filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    # Otherwise text printed through a pipe would come long after logged lines.
    environment["PYTHONUNBUFFERED"] = "1"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if label else {}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        try:
            for line in process.stdout or ():
                print(f"{label}{line}", end="", flush=True)
            process.wait()
        except BaseException:
            process.terminate()  # it saves its state first
            process.wait()
            raise
    if process.returncode:
        raise UserError(f"{' '.join(command)} failed.")


def read_results(folder):
    """Reads the numbers in the eval_results.txt of a folder, a dict."""
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.engine.reporting.summaries import read_eval_results

    text = read_eval_results(folder / "eval_results.txt")
    return {name: float(value) for name, value in text.items()}


def _runs(script, flags):
    """Reads the results of each seed, which the script leaves in its folder."""
    several = flags["num_runs"] > 1
    path = flags["output_dir"] / ("runs.json" if several else "eval_results.txt")
    own = {name: flags[name] for name in flags if name not in _PLACES}
    kept_runs.check(flags["output_dir"], **own)
    if not path.exists():
        run_module(script, flags)
    if several:
        return json.loads(path.read_text(encoding="utf-8"))
    return [read_results(flags["output_dir"])]
