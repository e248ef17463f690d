"""Files that take token ids, `model.onnx` and `model.tflite`, in their runtimes."""

import functools
import os
import pathlib
import threading
import warnings

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.files import read_file

TOKEN_FILES = ("model.onnx", "model.tflite")
_ALL_CORES = 0  # a number of threads for ONNX Runtime
_EXTERNAL_WEIGHTS = "session.model_external_initializers_file_folder_path"
_ONNX_DTYPES = {"float": "float32", "double": "float64"}  # others are called alike


class TokenFile:
    """Runs a file that an export wrote.

    The file is read once, here: whatever happens to it later changes no answer.

    Args:
        path: `model.tflite`, or `model.onnx`, which needs onnxruntime.

    Call: a dict of int32 features `[batch, tokens]`, to a dict of arrays.

    Attributes:
        runtime: the name and the version of the library that runs it.
        outputs: a `tf.TensorSpec` of each output by name.

    Raises:
        UserError: onnxruntime is not installed, or the file cannot be read or differs
            from its checksum.
    """

    def __init__(self, path):
        path = str(path)
        content = read_file(path)
        checksums.check_bytes(path, content)
        opened = _tflite if path.endswith(".tflite") else _onnx
        self.runtime, self._run, self.outputs = opened(content)

    def __call__(self, features):
        return self._run({name: np.asarray(v) for name, v in features.items()})

    def in_graph(self, features):
        """Computes the outputs as tensors, for features that are tensors."""
        names, specs = list(features), self.outputs

        def run(*values):
            found = self(dict(zip(names, values, strict=True)))
            return [found[name] for name in specs]

        dtypes = [spec.dtype for spec in specs.values()]
        found = tf.numpy_function(run, [*features.values()], dtypes)
        for tensor, spec in zip(found, specs.values(), strict=True):
            tensor.set_shape(spec.shape)
        return dict(zip(specs, found, strict=True))


def token_file_in(version):
    """Returns the path of the file in an export's folder; None if it holds none."""
    paths = (pathlib.Path(version) / name for name in TOKEN_FILES)
    return next(filter(pathlib.Path.exists, paths), None)


def _tflite(content):
    try:
        import ai_edge_litert
        from ai_edge_litert.interpreter import Interpreter

        runtime = f"ai-edge-litert {ai_edge_litert.__version__}"
    except ImportError:
        Interpreter, runtime = tf.lite.Interpreter, f"tensorflow {tf.__version__}"
    with warnings.catch_warnings():
        # It announces the package that is to follow it.
        warnings.filterwarnings("ignore", "(?s).*tf.lite.Interpreter is deprecated")
        interpreter = Interpreter(model_content=content)
    run, lock = interpreter.get_signature_runner("tokens"), threading.Lock()

    def run_alone(features):
        with lock:  # an interpreter has one place for each tensor
            return run(**features)

    outputs = {
        name: _spec(len(details["shape_signature"]), details["dtype"])
        for name, details in run.get_output_details().items()
    }
    return runtime, run_alone, outputs


def _onnx(content):
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError(
            "Running model.onnx needs onnxruntime; install it with "
            "pip install 'albert-tf[onnx]'."
        ) from error

    @functools.cache
    def session(threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Weights in other files would be sought in the current folder: there are none.
        options.add_session_config_entry(_EXTERNAL_WEIGHTS, os.devnull)
        return onnxruntime.InferenceSession(content, options)

    running, lock = [], threading.Lock()

    def run(features):
        with lock:
            # Calls at the same time take a core each, which wastes less than sharing.
            chosen = session(1 if running else _ALL_CORES)
            running.append(None)
        try:
            found = chosen.run(None, features)
        finally:
            running.pop()
        return dict(zip(outputs, found, strict=True))

    outputs = {
        output.name: _spec(len(output.shape), _onnx_dtype(output.type))
        for output in session(_ALL_CORES).get_outputs()
    }
    return f"onnxruntime {onnxruntime.__version__}", run, outputs


def _onnx_dtype(name):
    """Returns TensorFlow's name of a type such as `tensor(float)`."""
    name = name.removeprefix("tensor(").removesuffix(")")
    return _ONNX_DTYPES.get(name, name)


def _spec(rank, dtype):
    return tf.TensorSpec([None] * rank, dtype)
