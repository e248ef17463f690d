"""Rate at which questions become windows, against Hugging Face's fast tokenizer.

  python -m benchmarks.squad.features --data_file=dev-v1.1.json \\
      --spm_model_file=30k-clean.model --peer_python=/venv_peer/bin/python

Both make token ids, offsets and overlapping windows of the questions of a file that is
in memory, one process each, in turns; the peer as its question-answering example does
for 1,000 questions at a time, but without padding. Rates are questions a second of wall
time and of CPU time (its threads count together), and ratios the median of the rounds.
Then the peak memory of a process that makes the windows of the file.
"""

import dataclasses
import os
import pathlib
import sys

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.tasks.question_answering.questions import read_question_file
from benchmarks.measuring import figures
from benchmarks.measuring.turns import check_peer
from benchmarks.measuring.turns import command_of
from benchmarks.measuring.turns import played

_OURS, _PEER = "this project", "Hugging Face"


@dataclasses.dataclass(frozen=True)
class Options:
    data_file: str = option("File of questions in SQuAD's JSON layout.")
    spm_model_file: str = option("SentencePiece model; its .vocab file lies beside it.")
    peer_python: str | None = figures.peer_option()
    max_seq_length: int = option(
        "Largest length of a window, in tokens.", 384, minimum=5
    )
    doc_stride: int = option(
        "Number of tokens from a window to the next; for the peer, of tokens that two "
        "windows share.",
        128,
        minimum=1,
    )
    rounds: int = option(
        "Number of times that each side makes all windows.", 5, minimum=1
    )


def benchmark(options):
    """Prints rates, ratios and peak memory."""
    questions = len(read_question_file(options.data_file))
    commands = _commands(options)
    (found,), _ = played(commands, options.rounds, ["time"])
    for name, turns in found.items():
        best = {kind: min(turn[kind] for turn in turns) for kind in ("wall", "cpu")}
        print(
            f"{name}: {questions / best['wall']:,.0f} questions/s of wall time, "
            f"{questions / best['cpu']:,.0f} of CPU time; {turns[0]['windows']} windows"
        )
    if _PEER in found:
        ratios = {
            kind: np.median(
                [b[kind] / a[kind] for a, b in zip(*found.values(), strict=True)]
            )
            for kind in ("wall", "cpu")
        }
        print(
            f"{_OURS} / {_PEER}: {ratios['wall']:.2f} in wall time, "
            f"{ratios['cpu']:.2f} in CPU time"
        )
    # In a process that has made no windows yet.
    (memory,), _ = played({_OURS: commands[_OURS]}, 1, ["memory"])
    peak = memory[_OURS][0]["peak"]
    print(f"peak memory of making windows: {peak:.0f} MB")


def _commands(options):
    setting = {
        "data_file": os.path.abspath(options.data_file),
        "max_seq_length": options.max_seq_length,
        "doc_stride": options.doc_stride,
    }
    own = {**setting, "vocabulary": options.spm_model_file}
    commands = {_OURS: command_of(sys.executable, "windows", own)}
    if options.peer_python:
        check_peer(options.peer_python)
        pieces = pathlib.Path(options.spm_model_file).with_suffix(".vocab")
        peer = (options.peer_python, "hugging_face_windows")
        commands[_PEER] = command_of(*peer, {**setting, "vocabulary": str(pieces)})
    return commands


if __name__ == "__main__":
    command_line.run(Options, benchmark)
