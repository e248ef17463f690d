"""Time from the command to the first step of fine-tuning.

  python -m benchmarks.first_step --data_dir=glue_data --spm_model_file=30k-clean.model

Each command is `run_classifier.py --do_train --train_step=1` in a process of its own,
on a checkpoint of random weights in the shape of --albert_config_file. It is timed
until it logs that training starts, and until the first step is done: traced, compiled
if XLA is on, and run. "cold" begins without a cache of tokenized tables, "warm" with
one; both times the operating system has the files in memory. The table also shows the
processor time that the process has used until then, which says more on a busy machine.
"""

import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import albert_tf
from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from benchmarks.measuring import figures

_ROOT = pathlib.Path(__file__).resolve().parent.parent
# Log lines of run_classifier, and the event that they tell of.
_EVENTS = {"Training starts": "training starts", "training: 1/1": "first step done"}


@dataclasses.dataclass(frozen=True)
class Options:
    data_dir: str = option("Folder of the GLUE data.")
    spm_model_file: str = option("SentencePiece model that cuts the text into pieces.")
    albert_config_file: str = option(
        "Configuration of the model, a JSON file or a name such as albert/base_v2.",
        "configs/albert/base_v2.json",
    )
    max_seq_length: int = option("Largest length of an input, in tokens.", 128)
    train_batch_size: int = option("Number of rows in a batch.", 32)
    mixed_precision: str = option(
        "Type in which the layers compute.", "float32", ("float32", "bfloat16")
    )
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Prints the seconds of a cold and a warm start."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = os.path.join(folder, "checkpoint")
        config = AlbertConfig.from_json_file(options.albert_config_file)
        tokenizer = load_tokenizer(options.spm_model_file)
        albert_tf.AlbertModel(config).save_pretrained(checkpoint, tokenizer)
        rows = []
        for state in ("cold", "warm"):
            seconds = _seconds(options, folder, checkpoint, state)
            cells = [cell for both in seconds.values() for cell in both]
            rows.append([f"{state} cache", *cells])
    columns = ["from the command until"]
    for event in _EVENTS.values():
        columns += [f"{event}, s", "of processor time, s"]
    conditions = ["sst-2", options.mixed_precision]
    figures.report(options.figures_file, columns, rows, conditions)


def _seconds(options, folder, checkpoint, state):
    """Returns (seconds, processor seconds) from the command to each of `_EVENTS`."""
    flags = {
        "task_name": "sst-2",
        "data_dir": options.data_dir,
        "init_checkpoint": checkpoint,
        "output_dir": os.path.join(folder, state),
        "cached_dir": os.path.join(folder, "cache"),
        "max_seq_length": options.max_seq_length,
        "train_batch_size": options.train_batch_size,
        "mixed_precision": options.mixed_precision,
        "train_step": 1,
    }
    command = [sys.executable, str(_ROOT / "run_classifier.py"), "--do_train"]
    command += [f"--{name}={value}" for name, value in flags.items()]
    seconds, lines = {}, []
    started = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            lines.append(line)
            for text, name in _EVENTS.items():
                if text in line:
                    now = (time.monotonic() - started, _processor_seconds(process.pid))
                    seconds.setdefault(name, now)
            if len(seconds) == len(_EVENTS):
                process.kill()  # scoring the dev set is not measured
    if len(seconds) < len(_EVENTS):
        raise UserError(f"run_classifier.py failed:\n{''.join(lines[-20:])}")
    return seconds


def _processor_seconds(pid):
    """Returns the time that a process has used so far, without its children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    command_line.run(Options, benchmark)
