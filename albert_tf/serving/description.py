"""Files beside a SavedModel: `signature.json`, `model_card.md`, warm-up requests.

TensorFlow Serving replays the warm-up requests when it loads a model. Their file is a
TFRecord of `tensorflow_serving.PredictionLog` messages, which this module encodes by
hand (five nested fields), so that an export needs no serving package. The field numbers
come from tensorflow_serving/apis/{prediction_log,predict,model}.proto.
"""

import base64
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.types_pb2 import DataType

from albert_tf.checkpoints.model_card import in_words
from albert_tf.io.files import json_text

_DIFFERENCE = (
    "Probabilities usually differ from those of a float32 export by less than 0.01."
)
_COMPUTE_DTYPES = {
    "bfloat16": "The weights and the products with them are bfloat16; attention, "
    f"norms, softmax and the last layer are float32. {_DIFFERENCE} Processors with "
    "AVX512_BF16 or AMX answer faster than in float32, others slower.",
    "int8": "Products with weights have int8 weights, a scale for each column, and "
    "round their other factor to bytes; embeddings, attention, norms and softmax are "
    "float32. `distance` says how far the answer to the example is from float32.",
    "float16": "Weights and products are float16; it is for GPUs.",
}
_SHOWN = 8  # numbers that an example answer shows of a long vector
WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"
_PREDICTION_LOG_PREDICT_LOG = 6
_PREDICT_LOG_REQUEST = 1
_PREDICT_REQUEST_MODEL_SPEC, _PREDICT_REQUEST_INPUTS = 1, 2
_MODEL_SPEC_NAME, _MODEL_SPEC_SIGNATURE_NAME = 1, 3
_MAP_KEY, _MAP_VALUE = 1, 2
_LENGTH_DELIMITED = 2  # the wire type of messages and strings


def describe_signatures(signatures, examples, meaning):
    """Describes signatures, each with an example request and its answer.

    Args:
        signatures: concrete functions by name.
        examples: dict of example inputs (dict of arrays) by signature name.
        meaning: a line of text for each output.

    Returns:
        A dict for JSON by signature name: `inputs` and `outputs` with dtype and shape
        (null for any size), and an example request with its answer for REST and gRPC.
    """
    return {
        name: _describe(name, signatures[name], inputs, meaning)
        for name, inputs in examples.items()
    }


def _describe(name, signature, inputs, meaning):
    tensors = {key: tf.constant(value) for key, value in inputs.items()}
    answers = {k: v.numpy() for k, v in sorted(signature(**tensors).items())}
    specs = signature.structured_outputs
    return {
        "inputs": {
            key: _spec(spec)
            for key, spec in sorted(signature.structured_input_signature[1].items())
        },
        "outputs": {
            key: {**_spec(specs[key]), "meaning": meaning[key]} for key in answers
        },
        "rest": {
            "request": {
                "signature_name": name,
                "inputs": {key: _json(value) for key, value in inputs.items()},
            },
            "response": {"outputs": _rest_outputs(answers)},
        },
        "grpc": {
            "request": _predict_request(name, inputs),
            "response": {
                key: {
                    "dtype": DataType.Name(specs[key].dtype.as_datatype_enum),
                    "tensor_shape": list(value.shape),
                }
                for key, value in answers.items()
            },
        },
    }


def _spec(spec):
    return {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}


def _rest_outputs(answers):
    """Returns answers in REST form, which omits the name of a single output."""
    outputs = {key: _json(value, _SHOWN) for key, value in answers.items()}
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


def _predict_request(name, inputs):
    """Formats a `tensorflow_serving.PredictRequest` as text."""
    lines = ["model_spec {", f'  signature_name: "{name}"', "}"]
    for key, value in inputs.items():
        lines += ["inputs {", f'  key: "{key}"', "  value {"]
        lines += [
            f"    {line}" for line in str(tf.make_tensor_proto(value)).split("\n")
        ]
        lines += ["  }", "}"]
    return [line for line in lines if line.strip()]


def _json(value, most=None):
    """Converts arrays, lists and bytes to JSON values; keeps `most` items of a list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        shown = [_json(item, most) for item in value[:most]]
        more = len(value) - len(shown)
        return [*shown, f"… and {more} more"] if more else shown
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode()}
    return round(value, 6) if isinstance(value, float) else value


def model_card(facts, signatures):
    """Returns the text of `model_card.md`: a list of facts and the signatures."""
    lines = [f"# {facts['name']}", ""]
    lines += [f"- {key.replace('_', ' ')}: {_told(key, v)}" for key, v in facts.items()]
    if facts.get("compute_dtype") in _COMPUTE_DTYPES:
        lines += ["", _COMPUTE_DTYPES[facts["compute_dtype"]]]
    for name, signature in signatures.items():
        lines += ["", f"## Signature `{name}`", "", "| | name | dtype | shape | |"]
        lines += ["|---|---|---|---|---|"]
        for side in ("inputs", "outputs"):
            for key, spec in signature[side].items():
                shape = ["any" if size is None else size for size in spec["shape"]]
                lines.append(
                    f"| {side[:-1]} | `{key}` | {spec['dtype']} | {shape} "
                    f"| {spec.get('meaning', '')} |"
                )
        for part in ("request", "response"):
            text = _plain(signature["rest"][part])
            lines += ["", f"REST {part}:", "", "```json", text, "```"]
    return "\n".join(lines) + "\n"


def _told(key, value):
    """Says what a fact is; of tasks in words."""
    if key == "tasks":
        return "; ".join(f"{name}: {_told('task', t)}" for name, t in value.items())
    if key == "task" and "kind" in value:
        return in_words(value["kind"], value)
    return _plain(value)


def _plain(value):
    if isinstance(value, str):
        return value
    return json_text(value, indent=None).rstrip("\n")


def write_warmup_requests(saved_model_dir, model_name, requests):
    """Writes warm-up requests: pairs of a signature name and a dict of input arrays."""
    path = pathlib.Path(saved_model_dir) / WARMUP_FILE
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature_name, inputs in requests:
            writer.write(_prediction_log(model_name, signature_name, inputs))


def _prediction_log(model_name, signature_name, inputs):
    spec = _field(_MODEL_SPEC_NAME, model_name.encode())
    spec += _field(_MODEL_SPEC_SIGNATURE_NAME, signature_name.encode())
    request = _field(_PREDICT_REQUEST_MODEL_SPEC, spec)
    for name, value in inputs.items():
        tensor = tf.make_tensor_proto(value).SerializeToString()
        entry = _field(_MAP_KEY, name.encode()) + _field(_MAP_VALUE, tensor)
        request += _field(_PREDICT_REQUEST_INPUTS, entry)
    log = _field(_PREDICT_LOG_REQUEST, request)
    return _field(_PREDICTION_LOG_PREDICT_LOG, log)


def _field(number, payload):
    return bytes([number << 3 | _LENGTH_DELIMITED]) + _varint(len(payload)) + payload


def _varint(value):
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
