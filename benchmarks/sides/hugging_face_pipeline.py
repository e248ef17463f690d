"""The other side of benchmarks.serving: Hugging Face's models at their best.

That is the pipeline on PyTorch, the model in ONNX Runtime, fused and in int8, or in
OpenVINO, in static int8. The setting has runtime ("torch", "onnxruntime" or
"openvino"), model_dir, whose `albert_config.json` gives the shape (weights are random),
vocabulary, a SentencePiece `.vocab`, texts, a JSON file, and cores.
"""

import importlib.util
import itertools
import json
import os

os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import transformers  # noqa: E402

from benchmarks.measuring.turns import seconds_of_passes  # noqa: E402
from benchmarks.measuring.turns import seconds_to_choose_by  # noqa: E402
from benchmarks.measuring.turns import thread_counts  # noqa: E402
from benchmarks.sides.hugging_face_inference import config_of  # noqa: E402
from benchmarks.sides.hugging_face_windows import tokenizer_of  # noqa: E402

_NEEDED = {
    "torch": (),
    "onnxruntime": ("onnx", "onnxruntime", "sympy"),
    "openvino": ("onnx", "openvino", "nncf"),
}


def main(setting):
    """Finds the best setting for each request, then answers requests with times.

    The details are None if packages are missing.
    """
    if not all(map(importlib.util.find_spec, _NEEDED[setting["runtime"]])):
        return str, None
    os.sched_setaffinity(0, range(setting["cores"]))
    with open(setting["texts"], encoding="utf-8") as file:
        requests = json.load(file)
    pipelines, counts = _pipelines(setting, requests), thread_counts(setting["cores"])
    details, best = {}, {}
    for name, request in requests.items():
        size = request["batch_size"]
        batch = {"texts": request["texts"][:size], "batch_size": size}
        tried = {
            setting: seconds_to_choose_by(_pass(pipelines, setting, batch))
            for setting in itertools.product(pipelines, counts)
        }
        best[name] = min(tried, key=tried.get)
        kind, count = best[name]
        details[name] = f"{kind}, threads {count}"

    def take_turn(line):
        name, repeats = line.split()
        one_pass = _pass(pipelines, best[name], requests[name])
        return seconds_of_passes(one_pass, int(repeats))

    return take_turn, details


def _pipelines(setting, requests):
    """Returns what answers texts, by a description."""
    path = os.path.join(setting["model_dir"], "albert_config.json")
    tokenizer = tokenizer_of(setting["vocabulary"])
    if setting["runtime"] == "torch":
        return {
            f"{kind}, {attention} attention": _pipeline(
                path, kind, attention, tokenizer
            )
            for kind in _KINDS
            for attention in ("sdpa", "eager")
        }
    from benchmarks.sides import onnx_runtime

    classifier = onnx_runtime.OnnxClassifier(
        config_of(path),
        tokenizer,
        setting["runtime"],
        thread_counts(setting["cores"]),
        max((r["texts"] for r in requests.values()), key=len),
    )
    return {classifier.description: classifier}


_KINDS = {
    "float32": lambda model: model,
    "bfloat16": lambda model: model.to(torch.bfloat16),
    "int8": lambda model: torch.ao.quantization.quantize_dynamic(
        model, {torch.nn.Linear}, dtype=torch.qint8
    ),
}


def _pipeline(config, kind, attention, tokenizer):
    config = config_of(config)
    config._attn_implementation = attention
    model = _KINDS[kind](transformers.AlbertForSequenceClassification(config).eval())
    return transformers.pipeline(
        "text-classification", model=model, tokenizer=tokenizer, device=-1
    )


def _pass(pipelines, setting, request):
    """Returns a function that answers the texts of a request."""
    kind, threads = setting
    pipe = pipelines[kind]

    def one_pass():
        torch.set_num_threads(threads)
        # As on our side, texts of similar length meet in a batch.
        texts = sorted(request["texts"], key=len)
        pipe(texts, batch_size=request["batch_size"], truncation=True)

    return one_pass
