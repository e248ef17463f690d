"""The token signature by itself, for runtimes that have no text operations."""

import pathlib
import tempfile
import warnings

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError

_ONNX_OPSET = 17


def write_tflite(module, head, directory):
    """Writes `model.tflite`, its weights quantized to int8 (dynamic range).

    Args:
        module: a `ServingModule`.
        head: its `Head`.
        directory: where to write, a `pathlib.Path`.

    Returns:
        The path of the file.
    """
    function = _token_function(module, head)
    with tempfile.TemporaryDirectory(dir=directory) as temporary:
        tf.saved_model.save(
            module, temporary, signatures={"tokens": function.get_concrete_function()}
        )
        converter = tf.lite.TFLiteConverter.from_saved_model(
            temporary, signature_keys=["tokens"]
        )
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        content = converter.convert()
    path = directory / "model.tflite"
    path.write_bytes(content)
    return path


def write_onnx(module, head, directory):
    """Writes `model.onnx`, in float32; arguments and result as `write_tflite`.

    Raises:
        UserError: tf2onnx is not installed.
    """
    try:
        import tf2onnx
    except ImportError as error:
        raise UserError(
            "--format=onnx needs tf2onnx: pip install 'albert-tf[onnx]'."
        ) from error
    path = directory / "model.onnx"
    function = _token_function(module, head)
    tf2onnx.convert.from_function(
        function,
        function.input_signature,
        opset=_ONNX_OPSET,
        output_path=str(path),
    )
    return path


def _token_function(module, head):
    specs = list(head.feature_specs().values())

    def compute(*values):
        return module.compute(dict(zip(head.features, values, strict=True)))

    return tf.function(compute, input_signature=specs, autograph=False)


WRITERS = {"tflite": write_tflite, "onnx": write_onnx}


class TokenFile:
    """Runs a file that `write_tflite` or `write_onnx` wrote.

    Args:
        path: `model.tflite`, or `model.onnx`, which needs onnxruntime.

    Call: a dict of int32 features `[batch, tokens]`, to a dict of arrays.

    Raises:
        UserError: onnxruntime is not installed.
    """

    def __init__(self, path):
        path = pathlib.Path(path)
        self._run = (_tflite if path.suffix == ".tflite" else _onnx)(str(path))

    def __call__(self, features):
        return self._run({name: np.asarray(v) for name, v in features.items()})


def _tflite(path):
    with warnings.catch_warnings():
        # It announces the package that is to follow it.
        warnings.filterwarnings("ignore", "(?s).*tf.lite.Interpreter is deprecated")
        interpreter = tf.lite.Interpreter(path)
    run = interpreter.get_signature_runner("tokens")
    return lambda features: run(**features)


def _onnx(path):
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError(
            "Running model.onnx needs onnxruntime; install it with "
            "pip install 'albert-tf[onnx]'."
        ) from error
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return lambda features: dict(zip(names, session.run(None, features), strict=True))
