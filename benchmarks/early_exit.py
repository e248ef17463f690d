"""Rate and score of exports whose texts leave early, against full depth.

  python -m benchmarks.early_exit --model_dir=out/model --data_file=SST-2/dev.tsv

The model was fine-tuned by `run_classifier.py --early_exit`. The exports run in
processes of their own, which take turns; each takes the best number of threads. The
ratios are to ONNX Runtime in int8 at full depth, the fastest of them. The scores are of
the whole file, by `--eval_file` of the export.
"""

import contextlib
import dataclasses
import json
import pathlib
import statistics
import tempfile

from albert_tf.cli import command_line
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.models.flags import AppliedExitFlags
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from benchmarks.measuring import figures
from benchmarks.serving import alternating
from benchmarks.serving import own_side
from benchmarks.serving import turns_texts

_FORMS = {
    "onnx int8": {"format": "onnx", "compute_dtype": "int8"},
    "onnx": {"format": "onnx"},
    "bfloat16": {"optimize_for": "throughput", "compute_dtype": "bfloat16"},
    "throughput": {"optimize_for": "throughput"},
}
_BASE = "onnx int8, full depth"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(AppliedExitFlags):
    model_dir: str = option("Model directory of run_classifier.py --early_exit.")
    data_file: str = option(
        "Table (.tsv) with columns called sentence and label, such as SST-2's."
    )
    batch_size: int = option("Number of sentences in a batch.", 32)
    batches: int = option("Number of batches in a turn.", 4)
    requests: int = option("Number of passes over single sentences in a turn.", 3)
    rounds: int = option("Number of turns of each side.", 3)
    figures_file: str | None = figures.file_option()


def benchmark(options):
    """Runs all measurements and prints them."""
    texts = turns_texts(options)
    # Sentences of every difficulty, one at a time.
    texts["latency"]["texts"] = texts["throughput"]["texts"][:: options.batches]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        requests = folder / "requests.json"
        requests.write_text(json.dumps(texts), encoding="utf-8")
        versions = _versions(options, folder)
        sides = {
            side: stack.enter_context(own_side(version, requests))
            for side, version in versions.items()
        }
        seconds = {
            request: alternating(options, sides, request, repeats)
            for request, repeats in (("throughput", 1), ("latency", options.requests))
        }
        scores = {side: _score(version) for side, version in versions.items()}
    _report(options, scores, seconds, {r: len(t["texts"]) for r, t in texts.items()})


def _versions(options, folder):
    """Exports the model in each form, at full depth and as it leaves early."""
    versions = {}
    asked = vars(group_of(AppliedExitFlags, options))
    for form, flags in _FORMS.items():
        # Nothing is to be compared where nothing is converted.
        scored = {} if form == "throughput" else {"eval_file": options.data_file}
        for depth, rule in (("full depth", {"exit_rule": "none"}), ("early", asked)):
            side = f"{form}, {depth}"
            target = str(folder / side)
            flags_of_side = {**flags, **scored, **rule}
            versions[side] = export(
                ExportOptions(options.model_dir, target, **flags_of_side)
            )
    return versions


def _score(version):
    """Returns the first metric of an export's comparison; None without one."""
    facts = json.loads((version / "signature.json").read_text())
    values = next(iter(facts.get("eval", {}).values()), {})
    return [*values.values()][-1] if values else None


def _report(options, scores, seconds, counts):
    rows = []
    for side, score in scores.items():
        cells = []
        for request, by_side in seconds.items():
            median = statistics.median(by_side[side])
            rate = {"value": counts[request] / median}
            if side != _BASE:
                rate |= figures.ratios(by_side[_BASE], by_side[side])
            cells.append(rate)
        rows.append([side, "" if score is None else score, *cells])
    columns = ["", "score", "sentences/s, by batches", "sentences/s, one at a time"]
    conditions = [f"medians of {options.rounds} turns"]
    figures.report(options.figures_file, columns, rows, conditions)


if __name__ == "__main__":
    command_line.run(Options, benchmark)
