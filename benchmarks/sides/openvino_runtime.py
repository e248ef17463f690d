"""A classifier of transformers in OpenVINO, quantized by NNCF."""

import nncf
import openvino


def session_of(path, batches, threads):
    """Returns a function from a dict of arrays to logits, in static int8.

    Args:
        path: an ONNX file in float32.
        batches: a list of dicts of arrays, whose ranges decide what a byte means.
        threads: number of them.
    """
    model = openvino.Core().read_model(path)
    quantized = nncf.quantize(
        model,
        nncf.Dataset(batches),
        subset_size=len(batches),
        model_type=nncf.ModelType.TRANSFORMER,
    )
    setting = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    compiled = openvino.compile_model(quantized, "CPU", setting)
    return lambda arrays: compiled(arrays)[0]
