"""OpenVINO models: `model.xml`, the graph, and `model.bin` beside it, the weights.

Their package and NNCF, which quantizes them, are imported where they are needed.
"""

import contextlib
import functools
import sys

from albert_tf.token_files import onnx_graph


def opened(graph, weights):
    """Opens a model on the CPU.

    Args:
        graph, weights: the bytes of both files; or their paths, to map the weights.

    Returns:
        A function from whether no other call is running to a function from a dict of
        arrays to such a dict; and a dict of each output's axes and NumPy type by name.
    """
    import openvino

    core = openvino.Core()
    model = core.read_model(graph, weights)

    @functools.cache
    def session(alone):
        options = {
            "PERFORMANCE_HINT": "LATENCY" if alone else "THROUGHPUT",  # cores of a call
            # By default OpenVINO computes in bfloat16 where the processor has it, and
            # answers move with their neighbours.
            "INFERENCE_PRECISION_HINT": "f32",
        }
        compiled, idle = core.compile_model(model, "CPU", options), []

        def run(features):
            # A request has one place for each tensor.
            request = idle.pop() if idle else compiled.create_infer_request()
            found = request.infer(features)
            # Compiled outputs may have names of operations, too.
            arrays = {name: found[place] for place, name in enumerate(outputs)}
            idle.append(request)
            return arrays

        return run

    outputs = {
        output.any_name: (output.partial_shape.rank.get_length(), output.element_type)
        for output in model.outputs
    }
    return session, {
        name: (axes, dtype.to_dtype()) for name, (axes, dtype) in outputs.items()
    }


def version():
    """Returns the name and the version of the runtime."""
    import openvino

    return f"openvino {openvino.__version__}"


def convert(onnx_path, path):
    """Writes an ONNX file as an OpenVINO model in float32.

    Args:
        onnx_path: the ONNX file, a `pathlib.Path`.
        path: the `model.xml` to write, a `pathlib.Path`.
    """
    import openvino

    # OpenVINO maps weights that lie outside, and copies others twice.
    model = onnx_graph.outline(onnx_path)
    # NNCF takes the rows of a kernel of one column for its columns if the model
    # transposes it.
    onnx_graph.fold(model.graph, str(onnx_path.parent))
    outline = onnx_path.with_suffix(".outline")
    outline.write_bytes(model.SerializeToString())
    _save(openvino.Core().read_model(outline), path)


def quantize(path, rows):
    """Rewrites a model in float32 to compute in int8, by NNCF.

    SmoothQuant first moves large activations into the weights; then products and tables
    of embeddings get int8 weights, and their inputs ranges that the rows had.

    Args:
        path: the `model.xml`.
        rows: a list of dicts of features.
    """
    import openvino

    # NNCF reports its use to its makers where it finds this package.
    sys.modules["openvino_telemetry"] = None
    import nncf

    with contextlib.redirect_stdout(sys.stderr):  # bars of progress
        weights = path.with_suffix(".bin")
        model = nncf.quantize(
            openvino.Core().read_model(path.read_bytes(), weights.read_bytes()),
            nncf.Dataset(rows),
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(rows),
            advanced_parameters=nncf.AdvancedQuantizationParameters(
                # 7 bits: without VNNI, sums of two 8-bit products saturate.
                overflow_fix=nncf.OverflowFix.ENABLE
            ),
        )
    _save(model, path)


def _save(model, path):
    """Writes a model in the types that it has, its nodes named by their place.

    OpenVINO numbers names across models, so each call would write other bytes.
    """
    import openvino

    for place, node in enumerate(model.get_ordered_ops()):
        node.set_friendly_name(f"{node.get_type_name()}_{place}")
    openvino.save_model(model, path, compress_to_fp16=False)
