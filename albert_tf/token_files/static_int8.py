"""Static int8 in ONNX Runtime: ranges of what is multiplied, measured on rows."""

import onnx
from onnxruntime.quantization import CalibrationDataReader
from onnxruntime.quantization import CalibrationMethod
from onnxruntime.quantization import QuantType
from onnxruntime.quantization import quantize_static

from albert_tf.token_files import onnx_graph


class _Rows(CalibrationDataReader):
    def __init__(self, rows):
        self._rows = iter(rows)

    def get_next(self):
        return next(self._rows, None)


def quantize(path, rows):
    """Quantizes an ONNX file's products with weights, a scale a column (QDQ).

    Embeddings, attention's products of two activations, and weights of more than two
    axes, for which ONNX Runtime has no scale per column, stay in float32.

    Args:
        path: the file, in float32.
        rows: a list of dicts of features.
    """
    model = onnx.load(path)
    graph = onnx_graph.fold(model.graph)
    onnx.save(model, path)
    ranks = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    products = (node for node in graph.node if node.op_type == "MatMul")
    kept = [node.name for node in products if ranks.get(node.input[1]) != 2]
    quantize_static(
        path,
        path,
        _Rows(rows),
        op_types_to_quantize=["MatMul"],
        nodes_to_exclude=kept,
        per_channel=True,
        # 7 bits: without VNNI, sums of two 8-bit products saturate.
        reduce_range=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
        # Results stay in float32: what follows a product computes in it.
        extra_options={"OpTypesToExcludeOutputQuantization": ["MatMul"]},
    )
