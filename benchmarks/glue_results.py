"""What pretraining brings on GLUE: dev scores of pretrained models and from scratch.

  python -m benchmarks.glue_results --model_dirs=demo_output/pretrained,wikipedia \\
      --data_dir=glue_data --output_dir=glue_results

Each model directory is fine-tuned on each task with `--num_runs` seeds, and so is a
model of the same shape and vocabulary with random weights: same steps, same flags.
`results.md` in --output_dir, printed at the end, has the median, least and greatest
score of the best checkpoint and the median of the last. Re-running keeps finished runs.
"""

import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys

from albert_tf import command_line
from albert_tf.command_line import option
from albert_tf.errors import UserError
from albert_tf.files import write_atomically
from albert_tf.optimizers import OPTIMIZERS
from albert_tf.tasks.classification.glue import glue_source
from albert_tf.tokenization import load_tokenizer

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_OFFICIAL_NAMES = {"accuracy": "eval_accuracy"}
_HEADER = (
    "| task, metric | model | start | median | least–greatest | last checkpoint |\n"
    "|---|---|---|---|---|---|\n"
)


@dataclasses.dataclass(frozen=True)
class Options:
    model_dirs: str = option("Pretrained model directories, joined by commas.")
    data_dir: str = option("GLUE folder.")
    output_dir: str = option("Folder for the runs and the table.")
    tasks: str = option("GLUE tasks, joined by commas.", "sst-2,cola")
    num_runs: int = option("Seeds of each.", 3, minimum=1)
    train_step: int = option("Steps of each run.", 600, minimum=1)
    train_batch_size: int = option("Rows of a batch.", 32, minimum=1)
    optimizer: str = option("Optimizer.", "lamb", tuple(sorted(OPTIMIZERS)))
    learning_rate: float = option("Peak learning rate.", 2e-3, minimum=0)
    max_seq_length: int = option("Tokens of an input at most.", 64, minimum=5)


def run(options):
    """Runs what is not there yet, then writes and prints the table."""
    lines = []
    for task_name in options.tasks.split(","):
        metric = glue_source(task_name, options.data_dir).task.metrics[0]
        for model_dir in map(pathlib.Path, options.model_dirs.split(",")):
            for start in ("pretrained", "from scratch"):
                folder = f"{task_name}_{model_dir.name}_{start.replace(' ', '_')}"
                folder = pathlib.Path(options.output_dir) / folder
                runs = _runs(options, task_name, model_dir, start, folder)
                cells = _cells(runs, metric)
                names = [f"{task_name}, {metric}", model_dir.name, start]
                lines.append("| " + " | ".join([*names, *cells]) + " |\n")
    table = _HEADER + "".join(lines)
    write_atomically(pathlib.Path(options.output_dir) / "results.md", table)
    print(table, end="")


def _runs(options, task_name, model_dir, start, folder):
    """The results of each seed, which `run_classifier.py` leaves in `folder`."""
    path = folder / ("runs.json" if options.num_runs > 1 else "eval_results.txt")
    if not path.exists():
        command = [sys.executable, str(_ROOT / "run_classifier.py")]
        command += _flags(options, task_name, model_dir, start, folder)
        if subprocess.run(command).returncode:
            raise UserError(f"Fine-tuning failed: {' '.join(command)}.")
    if options.num_runs > 1:
        return json.loads(path.read_text(encoding="utf-8"))
    pairs = [line.split(" = ") for line in path.read_text().splitlines()]
    return [{name: float(value) for name, value in pairs}]


def _flags(options, task_name, model_dir, start, folder):
    flags = {
        "task_name": task_name,
        "data_dir": options.data_dir,
        "output_dir": folder,
        "cached_dir": pathlib.Path(options.output_dir) / "cache",
        "num_runs": options.num_runs,
        "train_step": options.train_step,
        "warmup_step": options.train_step // 10,
        "save_checkpoints_steps": max(options.train_step // 3, 1),
        "train_batch_size": options.train_batch_size,
        "eval_batch_size": 64,
        "optimizer": options.optimizer,
        "learning_rate": options.learning_rate,
        "max_seq_length": options.max_seq_length,
    }
    if start == "pretrained":
        flags["init_checkpoint"] = model_dir
    else:
        tokenizer = load_tokenizer(model_dir)
        kinds = {"sentencepiece": "spm_model_file", "wordpiece": "vocab_file"}
        flags["from_scratch"] = True
        flags["albert_config_file"] = model_dir / "albert_config.json"
        flags[kinds[tokenizer.kind]] = model_dir / tokenizer.file_name
        flags["do_lower_case"] = tokenizer.do_lower_case
    flags |= {"do_train": True, "do_eval": True}
    return [f"--{name}={value}" for name, value in flags.items()]


def _cells(runs, metric):
    """Median, range and the last checkpoint's median of a metric."""
    best = sorted(run[_OFFICIAL_NAMES.get(metric, metric)] for run in runs)
    last = sorted(run[f"last_{metric}"] for run in runs)
    return [
        f"{statistics.median(best):.3f}",
        f"{best[0]:.3f}–{best[-1]:.3f}",
        f"{statistics.median(last):.3f}",
    ]


if __name__ == "__main__":
    command_line.run(Options, run)
