"""Rates of questions with choices, masked words and vectors.

  python -m benchmarks.inference_rates --data_file=SST-2/dev.tsv \\
      --spm_model_file=30k-clean.model --peer_python=PEER_VENV/bin/python

Both sides get the same rows of ids, and compute in float32 with random weights of the
shape of --albert_config_file: scores of four choices, the five best words for a mask, a
vector for each text. The peer, Hugging Face's models on PyTorch, reads the rows in file
order, as its pipelines do, and sorted by length, as this project does. The sides run in
processes of their own and take turns; the first turn of each is not counted. Compare
the ratios, and those only on a machine that does nothing else.
"""

import dataclasses
import os
import sys
import tempfile

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.tasks.multiple_choice.questions import Question
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.parallel import available_cores
from benchmarks.measuring import figures
from benchmarks.measuring.turns import check_peer
from benchmarks.measuring.turns import command_of
from benchmarks.measuring.turns import played
from benchmarks.measuring.turns import read_sentences

TASKS = ("multiple_choice", "masked_words", "vectors")
_OURS = "this project"
_PEERS = {"Hugging Face, file order": "file", "Hugging Face, by length": "length"}
_CHOICES = 4
_SENTENCES = _CHOICES + 4  # of a question: three of context, one to ask, the choices
_LONGEST = 128  # tokens


@dataclasses.dataclass(frozen=True)
class Options:
    data_file: str = option(
        "Table (.tsv) with a column called sentence, such as SST-2's."
    )
    spm_model_file: str = option("File of the SentencePiece model.")
    peer_python: str | None = figures.peer_option()
    albert_config_file: str = option(
        "Shape of the model.", "configs/albert/base_v2.json"
    )
    rows: int = option("Number of texts, and of choices, in a turn.", 256, minimum=8)
    batch_size: int = option("Number of texts in a batch.", 32, minimum=4)
    rounds: int = option("Number of turns of each side.", 3, minimum=1)
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Prints the rows a second of each side and task, and the ratios."""
    if options.peer_python:
        check_peer(options.peer_python)
    with tempfile.TemporaryDirectory() as folder:
        setting = {**_write_rows(options, folder), "batch_size": options.batch_size}
        setting["config"] = os.path.abspath(options.albert_config_file)
        setting["threads"] = available_cores()
        commands = _commands(options, setting)
        answers, details = played(commands, options.rounds, TASKS, warm_ups=1)
    rows = []
    for task, seconds in zip(TASKS, answers, strict=True):
        cells = [
            figures.compared(found, seconds[_OURS], options.rows)
            for found in seconds.values()
        ]
        rows.append([task.replace("_", " "), *cells])
    columns = ["rows/s", *commands]
    conditions = [*figures.packages(details), f"medians of {options.rounds} turns"]
    figures.report(options.figures_file, columns, rows, conditions)


def _write_rows(options, folder):
    """Writes the rows of each task; returns their paths, and the id of the mask."""
    tokenizer = load_tokenizer(options.spm_model_file)
    texts = read_sentences(options.data_file)
    questions = options.rows // _CHOICES
    needed = max(options.rows, questions * _SENTENCES)
    if len(texts) < needed:
        raise UserError(
            f"{options.data_file} has {len(texts)} sentences, but --rows="
            f"{options.rows} needs {needed}; lower it."
        )
    vectors = tokenize_texts(texts[: options.rows], None, tokenizer, _LONGEST)
    masked = dataclasses.replace(vectors, ids=vectors.ids.copy())
    masked.ids[masked.starts + masked.lengths // 2] = tokenizer.mask_id
    examples = {
        "multiple_choice": _questions(texts, questions, tokenizer),
        "masked_words": masked,
        "vectors": vectors,
    }
    paths = {task: os.path.join(folder, f"{task}.npz") for task in TASKS}
    for task, path in paths.items():
        np.savez(path, **examples[task].arrays())
    mask = {"mask_id": tokenizer.mask_id, "vocab_size": tokenizer.vocab_size}
    return {"rows": paths, "longest": _LONGEST, **mask}


def _questions(texts, count, tokenizer):
    """Makes questions of sentences that follow each other, with their choices."""
    groups = [texts[i * _SENTENCES :][:_SENTENCES] for i in range(count)]
    questions = [
        Question(str(i), " ".join(group[:3]), group[3], tuple(group[4:]))
        for i, group in enumerate(groups)
    ]
    return tokenize_questions(questions, tokenizer, _LONGEST, _LONGEST // 2)


def _commands(options, setting):
    commands = {_OURS: command_of(sys.executable, "inference", setting)}
    if options.peer_python:
        for name, order in _PEERS.items():
            peer = (options.peer_python, "hugging_face_inference")
            commands[name] = command_of(*peer, {**setting, "order": order})
    return commands


if __name__ == "__main__":
    command_line.run(Options, benchmark)
