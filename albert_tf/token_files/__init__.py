"""ONNX, OpenVINO and TensorFlow Lite files: models without the tokenizer.

`model.onnx`, `model.xml` and `model.tflite` take token ids. `TokenFile` runs one of
them; the other functions write and check them.
"""

import functools
import mmap
import os
import pathlib
import tempfile
import threading
import warnings

import numpy as np
import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io import checksums
from albert_tf.io.files import read_file
from albert_tf.layers.replaceable import replaced
from albert_tf.token_files import dynamic_int8
from albert_tf.token_files import onnx_graph
from albert_tf.token_files import openvino
from albert_tf.token_files.input_names import OWN_NAMES
from albert_tf.token_files.operations import OPERATIONS
from albert_tf.token_files.operations import operations_library
from albert_tf.tokenization.parallel import available_cores

TOKEN_FILES = ("model.onnx", "model.xml", "model.tflite")
_EXTERNAL_WEIGHTS = "session.model_external_initializers_file_folder_path"
_ONNX_DTYPES = {"float": "float32", "double": "float64"}  # other names are equal
# The largest allowed difference from the model (`_distance`): enough for rounding,
# which moved random models by 0.24 in eight bits, too little for another function.
_TOLERANCES = {"float32": 0.01, "float16": 0.05, "int8": 0.4}
_MASKED = 1e9  # larger numbers mean masked values


class TokenFile:
    """Runs a file that an export wrote.

    The constructor reads the file once; later changes of the file have no effect.

    Args:
        path: `model.tflite`; `model.onnx`, which needs onnxruntime; or `model.xml`,
            with `model.bin` beside it, which needs openvino.
        keeps: False leaves ONNX and OpenVINO files to their runtimes, without comparing
            checksums, where no file changes while it is open.

    Call: a dict of int32 features `[batch, tokens]`, to a dict of arrays.

    Attributes:
        runtime: the name and the version of the library that runs it.
        outputs: a dict of each output's `tf.TensorSpec`.

    Raises:
        UserError: the runtime is not installed, or a file cannot be read or differs
            from its checksum.
    """

    def __init__(self, path, keeps=True):
        path = pathlib.Path(path)
        weights = [path.with_suffix(".bin")] if path.suffix == ".xml" else []
        read = _checked if keeps or path.suffix == ".tflite" else str
        contents = map(read, map(str, [path, *weights]))
        self.runtime, self._run, self.outputs = _OPENED[path.suffix](*contents)

    def __call__(self, features):
        return self._run({name: np.asarray(v) for name, v in features.items()})

    def in_graph(self, features):
        """Computes the outputs as tensors, from features that are tensors."""
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


def _checked(path):
    content = read_file(path)
    checksums.check_bytes(path, content)
    return content


def _tflite(content):
    try:
        import ai_edge_litert
        from ai_edge_litert.interpreter import Interpreter

        runtime = f"ai-edge-litert {ai_edge_litert.__version__}"
    except ImportError:
        Interpreter, runtime = tf.lite.Interpreter, f"tensorflow {tf.__version__}"
    with warnings.catch_warnings():
        # The warning announces the interpreter's successor.
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


def _onnx(source):
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError(
            "Running model.onnx needs onnxruntime; install it with "
            "pip install 'albert-tf[onnx]'."
        ) from error

    @functools.cache
    def session(alone):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _onnx_threads() if alone else 1
        # ONNX Runtime would look for external weights in the current folder.
        options.add_session_config_entry(_EXTERNAL_WEIGHTS, os.devnull)
        if _has_operations(source):
            options.register_custom_ops_library(operations_library())
        return onnxruntime.InferenceSession(source, options)

    def answering(alone):
        def answer(features):
            given = {
                name: _fed(features[OWN_NAMES.get(name, name)], dtype)
                for name, dtype in inputs.items()
            }
            return dict(zip(outputs, session(alone).run(None, given), strict=True))

        return answer

    inputs = {
        value.name: _onnx_dtype(value.type) for value in session(True).get_inputs()
    }
    outputs = {
        output.name: _spec(len(output.shape), _onnx_dtype(output.type))
        for output in session(True).get_outputs()
    }
    return f"onnxruntime {onnxruntime.__version__}", _with_cores(answering), outputs


def _onnx_threads():
    """Returns ONNX Runtime's number of threads for the cores of this process.

    By default, 0, it has one for each core of the machine (not for its second thread),
    and binds it there, even where the process may not run.
    """
    cores = available_cores()
    return 0 if cores == os.cpu_count() else cores


def _openvino(graph, weights):
    with of_extra("openvino", "Running model.xml needs openvino"):
        session, outputs = openvino.opened(graph, weights)
    specs = {name: _spec(*output) for name, output in outputs.items()}
    return openvino.version(), _with_cores(session), specs


def _with_cores(session):
    """Returns a function that answers with all cores, or beside others with one.

    Concurrent calls take one core each, which wastes less than sharing.

    Args:
        session: a function from whether no other call is running to the function that
            answers.
    """
    running, lock = [], threading.Lock()

    def run(features):
        with lock:
            answer = session(not running)
            running.append(None)
        try:
            return answer(features)
        finally:
            running.pop()

    return run


_OPENED = {".tflite": _tflite, ".onnx": _onnx, ".xml": _openvino}


def _fed(values, dtype):
    """Converts an array to an input's type; strings may be bytes."""
    if dtype != "string":
        return values.astype(dtype, copy=False)
    return np.array([text.decode() for text in values], object)


def _has_operations(source):
    """Returns whether an ONNX file, or its content, cuts texts."""
    if isinstance(source, bytes):
        return OPERATIONS.encode() in source
    with (
        open(source, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        return content.find(OPERATIONS.encode()) >= 0


def _onnx_dtype(name):
    """Returns TensorFlow's name of an ONNX type such as `tensor(float)`."""
    name = name.removeprefix("tensor(").removesuffix(")")
    return _ONNX_DTYPES.get(name, name)


def _spec(rank, dtype):
    return tf.TensorSpec([None] * rank, dtype)


def write_tflite(module, served, directory):
    """Writes `model.tflite`, its weights quantized to int8 (dynamic range).

    Returns:
        The path of the file, in the directory, a `pathlib.Path`.

    Raises:
        UserError: TensorFlow Lite cannot compute the model.
    """
    function = _token_function(module.float32_numbers, served.feature_specs())
    with replaced({"chosen": _static_choice}):
        function = function.get_concrete_function()
    with tempfile.TemporaryDirectory(dir=directory) as temporary:
        tf.saved_model.save(module, temporary, signatures={"tokens": function})
        converter = tf.lite.TFLiteConverter.from_saved_model(
            temporary, signature_keys=["tokens"]
        )
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        try:
            content = converter.convert()
        except Exception as error:  # its type is not public
            raise UserError(
                f"TensorFlow Lite lacks operations of {type(served.model).__name__}; "
                "export it with --format=onnx, or as a SavedModel."
            ) from error
    path = directory / "model.tflite"
    path.write_bytes(content)
    return path


def _static_choice(condition, function, other):
    """Returns the function for rows of any length, in the place of a branch."""
    return function if condition is True else other


def write_onnx(module, served, directory):
    """Writes `model.onnx` in float32 and returns its path, like `write_tflite`.

    Raises:
        UserError: tf2onnx is not installed.
    """
    path = directory / "model.onnx"
    specs = served.feature_specs()
    onnx_graph.write(module.float32_numbers, specs, served.variables, path)
    return path


def write_openvino(module, served, directory):
    """Writes `model.xml` and `model.bin` in float32, like `write_onnx`.

    OpenVINO reads no loop inside a branch, so that long rows are computed whole.

    Raises:
        UserError: openvino or tf2onnx is not installed.
    """
    path = directory / "model.xml"
    with (
        of_extra("openvino", "An OpenVINO model needs openvino, NNCF and tf2onnx"),
        tempfile.TemporaryDirectory(dir=directory) as temporary,
    ):
        with replaced({"chosen": _static_choice}):
            onnx_path = write_onnx(module, served, pathlib.Path(temporary))
        openvino.convert(onnx_path, path)
    return path


def round_on_rows(path, rows):
    """Rewrites a file in float32 to compute in int8, by ranges measured on rows.

    Args:
        path: an ONNX file or an OpenVINO model.
        rows: a list of dicts of features `[rows, …, tokens]`.

    Raises:
        UserError: a library is not installed.
    """
    extra = "openvino" if path.suffix == ".xml" else "onnx"
    with of_extra(extra, "calibration_file needs what quantizes"), onnx_graph.quiet():
        if path.suffix == ".xml":
            openvino.quantize(path, rows)
        else:
            from albert_tf.token_files import static_int8

            static_int8.quantize(path, rows)


def round_onnx(path, compute_dtype):
    """Rewrites an ONNX file in float32 to compute in another type.

    Args:
        path: the file.
        compute_dtype: "int8" or "float16", as in `ExportOptions`.

    Raises:
        UserError: onnxruntime is not installed.
    """
    with of_extra("onnx", f"compute_dtype={compute_dtype} needs onnxruntime"):
        _ROUNDED[compute_dtype](path)


def _in_float16(path):
    """Converts an ONNX file to float16; its inputs and outputs keep their types."""
    import onnx
    from onnxruntime.transformers.float16 import DEFAULT_OP_BLOCK_LIST
    from onnxruntime.transformers.float16 import convert_float_to_float16

    # Blocked operations get float32 inputs, even for the integers of shapes.
    blocked = [op for op in DEFAULT_OP_BLOCK_LIST if op not in ("Max", "Min")]
    with onnx_graph.quiet():  # it says which numbers it rounds
        model = convert_float_to_float16(
            onnx.load(path), keep_io_types=True, op_block_list=blocked
        )
    onnx.save(model, path)


_ROUNDED = {"int8": dynamic_int8.quantize, "float16": _in_float16}


def write_onnx_model(model, shapes, path):
    """Writes a Keras model as an ONNX file, and checks the file.

    Args:
        model: a `PretrainedModel`.
        shapes: a dict of each feature's shape, None for any size.
        path: the file.

    Raises:
        UserError: tf2onnx is not installed; or see `check_token_file`.
    """
    specs = {name: tf.TensorSpec(s, tf.int32, name) for name, s in shapes.items()}

    def compute(features):
        outputs = model(features, training=False)
        if not isinstance(outputs, dict):
            return {"logits": outputs}
        return {k: value for k, value in outputs.items() if not isinstance(value, list)}

    onnx_graph.write(compute, specs, model.weights, path)
    request = {}
    for name, shape in shapes.items():
        # Valid for every model; some have no segment 1.
        value = int(name in ("input_ids", "input_mask"))
        request[name] = np.full([size or 2 for size in shape], value, "int32")
    tensors = {name: tf.constant(values) for name, values in request.items()}
    check_token_file(path, request, compute(tensors))


def _token_function(compute, specs):
    def of_values(*values):
        return compute(dict(zip(specs, values, strict=True)))

    return tf.function(of_values, input_signature=[*specs.values()], autograph=False)


def check_token_file(path, features, expected, compute_dtype="float32"):
    """Opens a file in its runtime, and compares its answer with the model's.

    Without the runtime, it logs a warning and compares nothing.

    Args:
        path: the file, which is removed if the comparison fails.
        features: a small request, arrays by name.
        expected: the model's answer, a dict of tensors by name.
        compute_dtype: the file's.

    Returns:
        The `TokenFile`, and a dict for JSON: `opened_with`, the runtime and its
        version, `distance`, the difference of the answers, and `largest_distance`, the
        largest allowed one; None and {} without the runtime.

    Raises:
        UserError: the file does not load, or its answer differs.
    """
    path = pathlib.Path(path)
    try:
        file = TokenFile(path, keeps=False)
        found = file(features)
    except UserError as error:
        logging.warning("%s was not opened. %s", path.name, error)
        return None, {}
    except Exception as error:  # which one is the runtime's choice
        reason = str(error).partition("\n")[0]
        _refuse(path, f"it does not run: {reason}")
    distance = _distance(found, expected)
    most = _TOLERANCES[compute_dtype]
    if not distance <= most:
        _refuse(
            path,
            f"{file.runtime} answers otherwise than the model: they are {distance:.2g} "
            "of the answer's length apart.",
        )
    return file, {
        "opened_with": file.runtime,
        "distance": distance,
        "largest_distance": most,
    }


def _refuse(path, reason):
    path.unlink()
    raise UserError(f"{path.name} was removed, because {reason}")


def _distance(found, expected):
    """Computes the largest |found - expected| / (1 + |expected|) of arrays by name.

    It is infinite if names or shapes differ. Integers are not compared, because the
    ranks of two almost equal numbers may change.
    """
    if found.keys() != expected.keys():
        return np.inf
    largest = 0.0
    for name, tensor in expected.items():
        right, own = tensor.numpy(), found[name]
        if own.shape != right.shape:
            return np.inf
        if tensor.dtype.is_floating:
            right, own = right.astype(float), own.astype(float)
            shown = np.abs(right) < _MASKED
            right, own = right[shown], own[shown]
            relative = np.linalg.norm(own - right) / (1 + np.linalg.norm(right))
            largest = np.maximum(largest, relative)  # of NaN and a number, NaN
    return float(largest)


WRITERS = {"tflite": write_tflite, "onnx": write_onnx, "openvino": write_openvino}
