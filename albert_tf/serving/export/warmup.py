"""Warm-up requests that TensorFlow Serving replays when it loads a model.

The file is a TFRecord of `tensorflow_serving.PredictionLog` messages. They are encoded
by hand, five nested fields in all, so that exporting needs no serving package; the
field numbers are from tensorflow_serving/apis/{prediction_log,predict,model}.proto.
"""

import pathlib

import tensorflow as tf

WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"

_PREDICTION_LOG_PREDICT_LOG = 6
_PREDICT_LOG_REQUEST = 1
_PREDICT_REQUEST_MODEL_SPEC, _PREDICT_REQUEST_INPUTS = 1, 2
_MODEL_SPEC_NAME, _MODEL_SPEC_SIGNATURE_NAME = 1, 3
_MAP_KEY, _MAP_VALUE = 1, 2
_LENGTH_DELIMITED = 2  # the wire type of messages and strings


def write_warmup_requests(saved_model_dir, model_name, requests):
    """Writes the warm-up file of a SavedModel.

    Args:
        saved_model_dir: the versioned directory.
        model_name: name that the model has in the server.
        requests: list of (signature name, dict of input arrays).
    """
    path = pathlib.Path(saved_model_dir) / WARMUP_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
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
