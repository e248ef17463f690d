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
    function = _token_function(module.compute, head.feature_specs())
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
    path = directory / "model.onnx"
    _convert_to_onnx(_token_function(module.compute, head.feature_specs()), path)
    return path


def write_onnx_model(model, shapes, path):
    """Writes a Keras model of features as an ONNX file, as `model.export` does.

    Args:
        model: a `PretrainedModel`.
        shapes: the shape of each feature by name, None for any size.
        path: the file.

    Raises:
        UserError: tf2onnx is not installed.
    """
    specs = {name: tf.TensorSpec(s, tf.int32, name) for name, s in shapes.items()}

    def compute(features):
        outputs = model(features, training=False)
        if not isinstance(outputs, dict):
            return {"logits": outputs}
        return {k: value for k, value in outputs.items() if not isinstance(value, list)}

    _convert_to_onnx(_token_function(compute, specs), path)


def _convert_to_onnx(function, path):
    try:
        import tf2onnx
    except ImportError as error:
        raise UserError(
            "An ONNX file needs tf2onnx: pip install 'albert-tf[onnx]'."
        ) from error
    tf2onnx.convert.from_function(
        function,
        function.input_signature,
        opset=_ONNX_OPSET,
        output_path=str(path),
    )


def _token_function(compute, specs):
    def of_values(*values):
        return compute(dict(zip(specs, values, strict=True)))

    return tf.function(of_values, input_signature=[*specs.values()], autograph=False)


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
