"""An epoch of fine-tuning: this project, its own fixed length, Hugging Face.

  python -m benchmarks.finetune_epoch --data_dir=glue_data \\
      --spm_model_file=30k-clean.model --peer_python=/venv_peer/bin/python

All train the same rows of SST-2, tokenized once, from random weights in the shape of
--albert_config_file, in batches of the same size with AdamW, each in a process of its
own; they take turns, epoch by epoch. The first epoch includes tracing; the rates are
those of the fastest later one, and of the first. --peer_python is the interpreter of
an environment with torch and transformers (see benchmarks/peers); without it, only the
two ways of this project are compared.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from albert_tf import command_line
from albert_tf.command_line import option
from albert_tf.errors import UserError
from albert_tf.tasks.glue import glue_source
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer

_OURS, _FIXED, _PEER = "this project", "this project, fixed length", "Hugging Face"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclasses.dataclass(frozen=True)
class Options:
    data_dir: str = option("GLUE folder.")
    spm_model_file: str = option("SentencePiece model.")
    peer_python: str | None = option("Python with torch and transformers.", None)
    albert_config_file: str = option(
        "Shape of the model.", "configs/albert/base_v2.json"
    )
    rows: int = option("Rows of an epoch.", 2000, minimum=2)
    fixed_rows: int = option("Rows of an epoch of fixed length.", 256, minimum=2)
    train_batch_size: int = option("Rows of a batch.", 32, minimum=1)
    max_seq_length: int = option("Tokens of a row at most; the fixed length.", 128)
    epochs: int = option("Epochs, the first one included.", 3, minimum=2)


def benchmark(options):
    """Prints the examples a second of each, and the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        many = _write_rows(options, folder, options.rows)
        few = _write_rows(options, folder, options.fixed_rows)
        commands = _commands(options, many, few)
        rates = _rates(options, commands)
    for name, found in rates.items():
        print(
            f"{name}: {max(found[1:]):.1f} examples/s (first epoch {found[0]:.1f}; "
            f"all {', '.join(f'{rate:.1f}' for rate in found)})"
        )
    for name in rates.keys() - {_OURS}:
        ratios = np.divide(rates[_OURS], rates[name])
        print(
            f"{_OURS} / {name}: {np.median(ratios[1:]):.2f} (median of the epochs "
            f"after the first), {ratios[0]:.2f} in the first"
        )


def _write_rows(options, folder, count):
    """Writes `count` random training rows of SST-2, tokenized; returns the path."""
    source = glue_source("sst-2", options.data_dir)
    table = source.read(source.train)
    chosen = np.random.default_rng(0).permutation(len(table))[:count]
    examples = tokenize_texts(
        [table.texts[i] for i in chosen],
        None,
        load_tokenizer(options.spm_model_file),
        options.max_seq_length,
        table.labels[chosen],
    )
    path = os.path.join(folder, f"rows_{count}.npz")
    np.savez(path, **dataclasses.asdict(examples))
    return path


def _commands(options, many, few):
    """The command of each way, and the rows of its epoch; we train full batches."""
    full = [
        n - n % options.train_batch_size for n in (options.rows, options.fixed_rows)
    ]
    config = os.path.abspath(options.albert_config_file)
    size, length = str(options.train_batch_size), str(options.max_seq_length)
    ours = [sys.executable, "-m", "benchmarks.finetune_worker"]
    commands = {
        _OURS: ([*ours, many, config, size, length, "buckets"], full[0]),
        _FIXED: ([*ours, few, config, size, length, "fixed"], full[1]),
    }
    if options.peer_python:
        script = os.path.join(_ROOT, "benchmarks", "peers", "finetune_torch.py")
        threads = str(len(os.sched_getaffinity(0)))
        peer = [options.peer_python, script, many, config, size, threads]
        commands[_PEER] = (peer, options.rows)
    return commands


def _rates(options, commands):
    """Examples a second of each epoch of each way."""
    processes = {
        name: subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
        )
        for name, (command, _) in commands.items()
    }
    rates = {name: [] for name in commands}
    try:
        for _ in range(options.epochs):
            for name, process in processes.items():
                process.stdin.write("epoch\n")
                process.stdin.flush()
                line = process.stdout.readline()
                if not line:
                    raise UserError(f"{name} failed: {json.dumps(commands[name][0])}")
                rates[name].append(commands[name][1] / float(line))
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    return rates


if __name__ == "__main__":
    command_line.run(Options, benchmark)
