"""Rate of an exported classifier on raw text, against Hugging Face's models.

The peer takes the best of its settings on this processor: ONNX Runtime in int8, fused;
PyTorch in float32, bfloat16 weights or dynamic int8, attention by torch or not; and
threads. Both sort texts by length.

  python -m benchmarks.serving --data_file=SST-2/dev.tsv \\
      --spm_model_file=30k-clean.model --peer_python=PEER_VENV/bin/python
  python -m benchmarks.serving --data_file=SST-2/dev.tsv --model_dir=out/model

The model has the shape of ALBERT-base (or `--albert_config_file`) and random weights.
With --model_dir, a model of `run_classifier.py --early_exit` is exported at full depth
and as it leaves early; single sentences are then of every difficulty.
Our exports take the best number of threads, too. The peer, an interpreter with torch,
transformers, onnxruntime and sympy, and our exports run in processes of their own,
which take turns, each idle while another is timed. Compare the ratios, and those only
on a machine that does nothing else.
"""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np

import albert_tf
from albert_tf.cli import command_line
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.config import AlbertConfig
from albert_tf.models.flags import AppliedExitFlags
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tokenization import load_tokenizer
from benchmarks.measuring import figures
from benchmarks.measuring.turns import Fastest
from benchmarks.measuring.turns import Player
from benchmarks.measuring.turns import command_of
from benchmarks.measuring.turns import read_sentences
from benchmarks.measuring.turns import rounds_of
from benchmarks.measuring.turns import thread_counts

_MAX_SEQ_LENGTH = 128
_EXPORTS = {
    "default": {},
    "latency": {"optimize_for": "latency"},
    "throughput": {"optimize_for": "throughput"},
    "bfloat16": {"optimize_for": "throughput", "compute_dtype": "bfloat16"},
    "onnx": {"format": "onnx"},
    "onnx int8": {"format": "onnx", "compute_dtype": "int8"},
}
_FORMS_THAT_EXIT = ("onnx int8", "onnx", "bfloat16", "throughput")
_FULL_DEPTH = "onnx int8, full depth"
_SHORT_WORDS = 8  # words of the sentence whose latency is measured


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(AppliedExitFlags):
    data_file: str = option(
        "Table (.tsv) with a column called sentence, such as SST-2's."
    )
    spm_model_file: str | None = option(
        "SentencePiece model; its .vocab file lies beside it.", None
    )
    model_dir: str | None = option(
        "Model directory of run_classifier.py --early_exit, for its exports at full "
        "depth and as they leave early; by default ALBERT-base of random weights.",
        None,
    )
    peer_python: str | None = figures.peer_option()
    albert_config_file: str | None = option(
        "Configuration of the model; by default ALBERT-base.", None
    )
    batch_size: int = option("Number of sentences in a batch.", 32)
    batches: int = option("Number of batches in a turn.", 4)
    requests: int = option("Number of single sentences in a turn.", 40)
    rounds: int = option("Number of turns of each side.", 3)
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Runs all measurements and prints them."""
    texts = _turns_texts(options)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model_dir = pathlib.Path(options.model_dir or _model_dir(options, folder))
        exports = {
            name: export(ExportOptions(str(model_dir), str(folder / name), **flags))
            for name, flags in _exports(options).items()
        }
        requests = folder / "requests.json"
        requests.write_text(json.dumps(texts), encoding="utf-8")
        with contextlib.ExitStack() as stack:
            sides = {
                name: stack.enter_context(_own_side(version, requests))
                for name, version in exports.items()
            }
            if options.peer_python is not None:
                peer = stack.enter_context(_peer(options, model_dir, requests))
                sides["peer"] = peer
            rates = _alternating(options, sides, "throughput", 1)
            latencies = _alternating(options, sides, "latency", options.requests)
            details = {
                name: [side.details[request] for request in texts]
                for name, side in sides.items()
            }
        _write_figures(options, rates, latencies, details)


def _write_figures(options, throughput, latency, details):
    """Writes a row for each side, from its seconds of throughput and of latency."""
    count = options.batches * options.batch_size
    singles = options.batch_size if options.model_dir else 1
    shape = (options.rounds, -1)
    turns = {  # the median of each
        name: np.median(np.reshape(values, shape), axis=1).tolist()
        for name, values in latency.items()
    }
    base = next((side for side in ("peer", _FULL_DEPTH) if side in throughput), None)
    rows = []
    for side, seconds in throughput.items():
        cells = [
            {"value": count / statistics.median(seconds)},
            {"value": 1000 * statistics.median(latency[side]) / singles},
        ]
        if base and side != base:
            cells[0] |= figures.ratios(throughput[base], seconds)
            cells[1] |= figures.ratios(turns[base], turns[side])
        rows.append([side, *cells])
    one = "one sentence, ms" if options.model_dir else "one short sentence, ms"
    columns = ["", "sentences/s, by batches", one]
    sides = {}
    for side, (of_batches, of_one) in details.items():
        shown = f"batches: {of_batches}; one sentence: {of_one}"
        sides.setdefault(of_one if of_one == of_batches else shown, []).append(side)
    conditions = [f"{', '.join(names)}: {shown}" for shown, names in sides.items()]
    conditions.append(f"medians of {options.rounds} turns")
    figures.report(options.figures_file, columns, rows, conditions)


def _exports(options):
    """Returns the flags of each export by its name."""
    if options.model_dir is None:
        return _EXPORTS
    asked = vars(group_of(AppliedExitFlags, options))
    depths = {"full depth": {"exit_rule": "none"}, "early": asked}
    return {
        f"{form}, {depth}": {**_EXPORTS[form], **rule}
        for form in _FORMS_THAT_EXIT
        for depth, rule in depths.items()
    }


def _turns_texts(options):
    """Returns the texts of a turn: in file order, and one by one."""
    sentences = read_sentences(options.data_file)
    size = options.batch_size
    many = sentences[: options.batches * size]
    single = many[:: options.batches]
    if options.model_dir is None:  # one short sentence
        single = [next(s for s in sentences if len(s.split()) == _SHORT_WORDS)]
    return {
        "throughput": {"texts": many, "batch_size": size},
        "latency": {"texts": single, "batch_size": 1},
    }


def _model_dir(options, folder):
    from albert_tf.tasks.registry import create_task

    config = AlbertConfig.from_json_file(options.albert_config_file or "albert/base_v2")
    tokenizer = load_tokenizer(options.spm_model_file)
    task = create_task("single_label", "sst-2", labels=("0", "1"))
    model = albert_tf.AlbertForSequenceClassification(config, task.num_outputs)
    info = {"task": task.to_dict(), "max_seq_length": _MAX_SEQ_LENGTH}
    model.save_pretrained(folder / "model", tokenizer, info)
    return folder / "model"


def _own_side(version, requests):
    """Returns an export, with the number of threads that suits it."""
    from albert_tf.token_files import token_file_in  # and TensorFlow

    setting = {"version": str(version), "texts": str(requests)}
    counts = thread_counts()
    if token_file_in(version):
        counts = counts[-1:]  # its runtime takes all cores
    return Fastest(
        {
            f"threads {count}": command_of(
                sys.executable, "exported", {**setting, "threads": count}
            )
            for count in counts
        }
    )


def _peer(options, model_dir, requests):
    setting = {
        "config": str(model_dir / "albert_config.json"),
        "vocabulary": os.path.splitext(options.spm_model_file)[0] + ".vocab",
        "texts": str(requests),
    }
    return Player(command_of(options.peer_python, "hugging_face_pipeline", setting))


def _alternating(options, sides, name, repeats):
    """Returns the seconds of each pass, by side: the sides take turns."""
    request = f"{name} {repeats}"
    turns = {side: functools.partial(p.turn, request) for side, p in sides.items()}
    return {k: sum(v, []) for k, v in rounds_of(turns, options.rounds).items()}


if __name__ == "__main__":
    command_line.run(Options, benchmark)
