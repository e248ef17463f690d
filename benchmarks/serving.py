"""Rate of an exported classifier on raw text, against Hugging Face's models.

The peers, on one core and on all: PyTorch in float32, bfloat16 weights or dynamic int8,
attention by torch or not; ONNX Runtime in int8, fused; OpenVINO in static int8 by NNCF.
Each side takes the best of its settings and numbers of threads, and all sort texts by
length.

  python -m benchmarks.serving --data_file=SST-2/dev.tsv \\
      --spm_model_file=30k-clean.model --peer_python=PEER_VENV/bin/python
  python -m benchmarks.serving --data_file=SST-2/dev.tsv --model_dir=out/model

The model has the shape of ALBERT-base (or `--albert_config_file`) and random weights.
With --model_dir, a model of `run_classifier.py --early_exit` is exported at full depth
and as it leaves early; single sentences are then of every difficulty.
The peers' interpreter has torch and transformers; onnx, onnxruntime and sympy for ONNX
Runtime; and openvino and nncf, too, for OpenVINO, as this one for our file of OpenVINO.
Ranges of static int8 are measured on the first sentences. All sides run in processes of
their own, which take turns, each idle while another is timed. In brackets stand how
many times as fast a side is as the fastest peer, and the share of its time that the
model's products alone take in ONNX Runtime's int8. Compare those, and only on a machine
that does nothing else.
"""

import contextlib
import dataclasses
import functools
import importlib.util
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
from albert_tf.tokenization.parallel import available_cores
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
_STATIC = {"onnx": "onnxruntime", "openvino": "nncf"}  # what measures ranges, by format
_CALIBRATING = 300  # sentences
_FORMS_THAT_EXIT = ("onnx int8", "onnx", "bfloat16", "throughput")
_FULL_DEPTH = "onnx int8, full depth"
_RUNTIMES = ("torch", "onnxruntime", "openvino")  # of the peers
_PRODUCTS = "products alone"
_SPECIAL = 2  # tokens of a row beside its text's
_SINGLE = (12, 128)  # tokens of the sentences that are answered alone


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
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model_dir = pathlib.Path(options.model_dir or _model_dir(options, folder))
        exports = {
            name: export(ExportOptions(str(model_dir), str(folder / name), **flags))
            for name, flags in _exports(options, folder).items()
        }
        requests = _requests(options, load_tokenizer(str(model_dir)))
        path = folder / "requests.json"
        path.write_text(json.dumps(requests), encoding="utf-8")
        setting = {"model_dir": str(model_dir), "texts": str(path)}
        measured = {
            cores: _measured(options, exports, requests, {**setting, "cores": cores})
            for cores in sorted({1, available_cores()})
        }
        _write_figures(options, requests, measured)


def _measured(options, exports, requests, setting):
    """Returns the seconds of each request's passes by side, and the sides' details."""
    with contextlib.ExitStack() as stack:
        sides = {
            name: stack.enter_context(_own_side(version, setting))
            for name, version in exports.items()
        }
        products = command_of(sys.executable, "products", setting)
        sides[_PRODUCTS] = stack.enter_context(Player(products))
        for runtime in _RUNTIMES if options.peer_python else ():
            peer = stack.enter_context(_peer(options, setting, runtime))
            if peer.details is None:
                print(f"{options.peer_python} lacks the packages of {runtime}.")
            else:
                sides[f"peer, {runtime}"] = peer
        seconds = {
            name: _alternating(options, sides, f"{name} {request['repeats']}")
            for name, request in requests.items()
        }
        return seconds, {name: side.details for name, side in sides.items()}


def _write_figures(options, requests, measured):
    """Writes a row for each side, from what `_measured` returns by number of cores."""
    columns, sides, conditions = [""], {}, []
    for cores, (seconds, details) in measured.items():
        noun = "core" if cores == 1 else "cores"
        for name, request in requests.items():
            columns.append(f"{request['title']}, {cores} {noun}")
            for side, cell in _cells(request, seconds[name]).items():
                sides.setdefault(side, []).append(cell)
        alike = {}
        for side, found in details.items():
            shown = " or ".join(sorted({found[name] for name in requests}))
            alike.setdefault(shown, []).append(side)
        conditions += [
            f"{cores} {noun}, {', '.join(names)}: {shown}"
            for shown, names in alike.items()
        ]
    rows = [[side, *cells] for side, cells in sides.items()]
    conditions.append(f"medians of {options.rounds} turns")
    figures.report(options.figures_file, columns, rows, conditions)


def _cells(request, seconds):
    """Returns a request's cell for each side, from the seconds of its turns' passes."""
    turns = {  # the median of each turn
        side: [statistics.median(passes) for passes in found]
        for side, found in seconds.items()
    }
    middle = {side: statistics.median(found) for side, found in turns.items()}
    bases = [side for side in turns if side.startswith("peer")] or [_FULL_DEPTH]
    base = min(bases, key=lambda side: middle.get(side, 0))
    cells = {}
    for side, found in turns.items():
        count = len(request["texts"])
        rate = count / middle[side]
        is_rate = request["batch_size"] > 1  # else milliseconds
        cells[side] = {"value": rate if is_rate else 1000 / rate}
        if side != _PRODUCTS:
            cells[side]["share"] = middle[_PRODUCTS] / middle[side]
            if base in turns and side != base:
                cells[side] |= figures.ratios(turns[base], found)
    return cells


def _exports(options, folder):
    """Returns the flags of each export by its name."""
    if options.model_dir is None:
        return {**_EXPORTS, **_static_exports(options, folder / "calibration.txt")}
    asked = vars(group_of(AppliedExitFlags, options))
    depths = {"full depth": {"exit_rule": "none"}, "early": asked}
    return {
        f"{form}, {depth}": {**_EXPORTS[form], **rule}
        for form in _FORMS_THAT_EXIT
        for depth, rule in depths.items()
    }


def _static_exports(options, path):
    sentences = read_sentences(options.data_file)[:_CALIBRATING]
    path.write_text("\n".join(sentences), encoding="utf-8")
    found = {}
    for form, package in _STATIC.items():
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed: no static int8 of {form}.")
            continue
        flags = {"compute_dtype": "int8", "calibration_file": str(path)}
        found[f"{form} static int8"] = {"format": form, **flags}
    return found


def _requests(options, tokenizer):
    """Returns the texts of a turn: in file order, and one by one.

    `shapes` are the rows and tokens of the batches, sorted by length.
    """
    sentences = read_sentences(options.data_file)
    size = options.batch_size
    many = sentences[: options.batches * size]
    requests = {
        "batches": {
            "title": "sentences/s, by batches",
            "texts": many,
            "batch_size": size,
        }
    }
    if options.model_dir is None:
        for tokens in _SINGLE:
            text = _of_tokens(sentences, tokens, tokenizer)
            requests[f"{tokens}_tokens"] = {
                "title": f"one sentence of {tokens} tokens, ms",
                "texts": [text],
                "batch_size": 1,
            }
    else:
        requests["single"] = {
            "title": "one sentence, ms",
            "texts": many[:: options.batches],
            "batch_size": 1,
        }
    for request in requests.values():
        step, texts = request["batch_size"], request["texts"]
        lengths = sorted(len(tokenizer.encode(text)) + _SPECIAL for text in texts)
        lengths = np.minimum(lengths, _MAX_SEQ_LENGTH).tolist()
        batches = [lengths[i : i + step] for i in range(0, len(lengths), step)]
        request["shapes"] = [(len(rows), rows[-1]) for rows in batches]
        request["repeats"] = 1 if step > 1 else options.requests
    return requests


def _of_tokens(sentences, tokens, tokenizer):
    """Returns the first words of the sentences that make a row of at least `tokens`."""
    words = " ".join(sentences).split()
    count = tokens // 4
    while len(tokenizer.encode(" ".join(words[:count]))) + _SPECIAL < tokens:
        count += 1
    return " ".join(words[:count])


def _model_dir(options, folder):
    from albert_tf.tasks.registry import create_task

    config = AlbertConfig.from_json_file(options.albert_config_file or "albert/base_v2")
    tokenizer = load_tokenizer(options.spm_model_file)
    task = create_task("single_label", "sst-2", labels=("0", "1"))
    model = albert_tf.AlbertForSequenceClassification(config, task.num_outputs)
    info = {"task": task.to_dict(), "max_seq_length": _MAX_SEQ_LENGTH}
    model.save_pretrained(folder / "model", tokenizer, info)
    return folder / "model"


def _own_side(version, setting):
    """Returns an export, with the number of threads that suits it."""
    from albert_tf.token_files import token_file_in  # and TensorFlow

    counts = thread_counts(setting["cores"])
    if token_file_in(version):
        counts = counts[-1:]  # its runtime takes all cores
    setting = {**setting, "version": str(version)}
    return Fastest(
        {
            f"threads {count}": command_of(
                sys.executable, "exported", {**setting, "threads": count}
            )
            for count in counts
        }
    )


def _peer(options, setting, runtime):
    vocabulary = os.path.splitext(options.spm_model_file)[0] + ".vocab"
    setting = {**setting, "vocabulary": vocabulary, "runtime": runtime}
    return Player(command_of(options.peer_python, "hugging_face_pipeline", setting))


def _alternating(options, sides, request):
    """Returns the seconds of each turn's passes, by side: the sides take turns."""
    turns = {side: functools.partial(p.turn, request) for side, p in sides.items()}
    return rounds_of(turns, options.rounds)


if __name__ == "__main__":
    command_line.run(Options, benchmark)
