"""An epoch of fine-tuning: this project, its own fixed length, Hugging Face.

  python -m benchmarks.finetune_epoch --data_dir=glue_data \\
      --spm_model_file=30k-clean.model --peer_python=/venv_peer/bin/python
  python -m benchmarks.finetune_epoch --squad_file=dev-v1.1.json --max_seq_length=384 …
  python -m benchmarks.finetune_epoch --tagging_file=train.conll …

All train the same rows, tokenized once, of SST-2, or windows of SQuAD or of tagged
words, from random weights in the shape of --albert_config_file, in batches of the same
size with AdamW, each in a process of its own; they take turns, epoch by epoch. The
first epoch includes tracing; the rates are of the later ones, and of the first. In
brackets stands also the share of the time that our model's products alone, for the rows
padded to our lengths, take in TensorFlow (oneDNN) in the type of --mixed_precision.
The defaults take some 17 minutes on two cores. --peer_python is the interpreter of an
environment with torch and transformers (extra `bench`); without it, only this project's
two ways are compared.
"""

import dataclasses
import os
import sys
import tempfile

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.tasks.question_answering.questions import question_file
from albert_tf.tasks.question_answering.questions import read_question_file
from albert_tf.tasks.tagging.schemes import IOB2
from albert_tf.tasks.tagging.schemes import all_tags
from albert_tf.tasks.tagging.sentences import TagFileFlags
from albert_tf.tasks.tagging.sentences import read_tag_file
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.parallel import available_cores
from benchmarks.measuring import figures
from benchmarks.measuring.turns import check_peer
from benchmarks.measuring.turns import command_of
from benchmarks.measuring.turns import played

_OURS, _FIXED = "this project", "this project, fixed length"
_FLOAT32 = "this project, float32"
_PEER = "Hugging Face"
_PRODUCTS = "products alone"


@dataclasses.dataclass(frozen=True)
class Options:
    spm_model_file: str = option("File of the SentencePiece model.")
    data_dir: str | None = option("GLUE folder, for rows of SST-2.", None)
    squad_file: str | None = option(
        "File of questions in the layout of SQuAD 1.1, to train on their windows "
        "instead.",
        None,
    )
    peer_python: str | None = figures.peer_option()
    tagging_file: str | None = option(
        "File of tagged words as run_tagging.py reads it, to train on their windows "
        "instead.",
        None,
    )
    albert_config_file: str = option(
        "Shape of the model.", "configs/albert/base_v2.json"
    )
    rows: int = option("Number of rows in an epoch.", 2000, minimum=2)
    fixed_rows: int = option(
        "Number of rows in an epoch of the fixed length.", 256, minimum=2
    )
    train_batch_size: int = option("Number of rows in a batch.", 32, minimum=1)
    max_seq_length: int = option(
        "Largest length of a row, in tokens; also the fixed length.", 128
    )
    epochs: int = option("Number of epochs, the first one included.", 3, minimum=2)
    mixed_precision: str = option(
        "Type in which all compute, each in its own mixed precision; bfloat16 also "
        "times this project in float32.",
        "float32",
        ("float32", "bfloat16"),
    )
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Prints the examples a second of each, and the ratios."""
    if options.peer_python:
        check_peer(options.peer_python)
    task, examples = _examples(options)
    with tempfile.TemporaryDirectory() as folder:
        many = _write_rows(examples, folder, options.rows)
        few = _write_rows(examples, folder, options.fixed_rows)
        rates, versions = _rates(options, _sides(options, task, many, few))
    _write_figures(options, rates, versions)


def _write_figures(options, rates, versions):
    own, limit = np.reciprocal(rates[_OURS]), np.reciprocal(rates[_PRODUCTS])
    rows = []
    for name, found in rates.items():
        seconds = np.reciprocal(found)
        parts = (slice(1, None), slice(0, 1))
        shown = None if name == _PRODUCTS else limit
        cells = [figures.compared(seconds[p], own[p], 1, shown) for p in parts]
        rows.append([name, *cells])
    columns = ["examples/s", "after the first epoch", "in the first epoch"]
    conditions = [*versions, options.mixed_precision, f"{options.epochs} epochs"]
    figures.report(options.figures_file, columns, rows, conditions)


def _examples(options):
    """Returns the task, and all of its training rows with labels."""
    tokenizer = load_tokenizer(options.spm_model_file)
    files = (options.data_dir, options.squad_file, options.tagging_file)
    if sum(file is not None for file in files) != 1:
        raise UserError("Give --data_dir for SST-2, or --squad_file or --tagging_file.")
    # Imported here and below, so that --help does not wait for TensorFlow.
    from albert_tf.tasks.classification.glue import glue_examples
    from albert_tf.tasks.question_answering.task import SquadV1

    if options.data_dir:
        task, tables = glue_examples("sst-2", options.data_dir, roles=("train",))
        table, length = tables["train"], options.max_seq_length
        return task, tokenize_texts(table.texts, None, tokenizer, length, table.labels)
    if options.tagging_file:
        return _tagged(options.tagging_file, tokenizer, options.max_seq_length)
    task = SquadV1(name="squad")
    questions = question_file(
        read_question_file(options.squad_file), task.version, "train"
    )
    tokens = task.tokenize(questions, tokenizer, options.max_seq_length)
    return task, _with_targets(tokens, tokens.answers)


def _tagged(path, tokenizer, max_seq_length):
    from albert_tf.tasks.tagging.task import Tagging

    file = read_tag_file(path, TagFileFlags())
    labels = all_tags(file.types(), IOB2)
    task = Tagging(name="custom", labels=labels, scheme=IOB2)
    tokens = task.tokenize(file, tokenizer, max_seq_length)
    return task, _with_targets(tokens, task.targets(file, tokens))


def _with_targets(tokens, targets):
    rows = (tokens.ids, tokens.starts, tokens.lengths, tokens.first_lengths)
    return TokenizedExamples(*rows, targets)


def _write_rows(examples, folder, count):
    """Writes `count` random rows; returns the path."""
    if count > len(examples):
        raise UserError(
            f"There are only {len(examples)} rows to train; lower --rows={count} and "
            "--fixed_rows."
        )
    chosen = np.random.default_rng(0).permutation(len(examples))[:count]
    path = os.path.join(folder, f"rows_{count}.npz")
    np.savez(path, **examples.take(chosen).arrays())
    return path


def _sides(options, task, many, few):
    """Lists each way's command and the rows of its epoch; we train full batches."""
    setting = {
        "task": task.to_dict(),
        "config": os.path.abspath(options.albert_config_file),
        "batch_size": options.train_batch_size,
        "max_seq_length": options.max_seq_length,
        "threads": available_cores(),
        "read": 1 if options.data_dir else None,
    }
    ours = (sys.executable, "fine_tuning")
    products = (sys.executable, "training_products")
    peer = (options.peer_python, "hugging_face_fine_tuning")
    dtype = options.mixed_precision
    ways = {
        _OURS: (ours, many, options.rows, "buckets", dtype),
        _FIXED: (ours, few, options.fixed_rows, "fixed", dtype),
        _PRODUCTS: (products, many, options.rows, "buckets", dtype),
    }
    if dtype != "float32":
        ways[_FLOAT32] = (ours, many, options.rows, "buckets", "float32")
    if options.peer_python:
        ways[_PEER] = (peer, many, options.rows, "longest", dtype)
    sides = {}
    for name, (side, path, rows, padding, dtype) in ways.items():
        own = {"rows": path, "padding": padding, "mixed_precision": dtype}
        rows -= 0 if side is peer else rows % options.train_batch_size
        sides[name] = command_of(*side, {**setting, **own}), rows
    return sides


def _rates(options, sides):
    """Measures each way's examples a second in each epoch; tells package versions."""
    commands = {name: command for name, (command, _) in sides.items()}
    (seconds,), details = played(commands, options.epochs)
    rates = {n: [sides[n][1] / each for each in seconds[n]] for n in sides}
    return rates, figures.packages(details)


if __name__ == "__main__":
    command_line.run(Options, benchmark)
