"""Files beside a SavedModel: examples of requests, and requests that warm it up."""

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2

from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.description import describe_signatures
from albert_tf.serving.description import write_warmup_requests

_IDS = np.arange(10, dtype="int32")[None]


def described(compute, **inputs):
    specs = {
        name: tf.TensorSpec(
            [None] * np.ndim(values), tf.as_dtype(np.array(values).dtype)
        )
        for name, values in inputs.items()
    }
    named = tf.function(lambda **given: compute(**given))
    signature = named.get_concrete_function(**specs)
    meaning = dict.fromkeys(signature.structured_outputs, "a number")
    found = describe_signatures({"s": signature}, {"s": inputs}, meaning)
    return found["s"]


def test_an_example_of_several_answers():
    found = described(
        lambda ids: {"shares": tf.cast(ids, tf.float32) / 3, "count": tf.size(ids)},
        ids=_IDS,
    )
    assert found["inputs"] == {"ids": {"dtype": "int32", "shape": [None, None]}}
    assert found["outputs"]["count"] == {
        "dtype": "int32",
        "shape": [],
        "meaning": "a number",
    }
    assert found["rest"]["request"]["inputs"] == {"ids": _IDS.tolist()}
    answer = found["rest"]["response"]["outputs"]
    assert answer["count"] == 10
    assert answer["shares"][0][:2] == [0.0, 0.333333]
    assert answer["shares"][0][8:] == ["… and 2 more"]
    assert found["grpc"]["response"]["shares"] == {
        "dtype": "DT_FLOAT",
        "tensor_shape": [1, 10],
    }
    request = predict_pb2.PredictRequest()
    text_format.Parse("\n".join(found["grpc"]["request"]), request)
    assert request.model_spec.signature_name == "s"
    np.testing.assert_array_equal(tf.make_ndarray(request.inputs["ids"]), _IDS)


def test_one_answer_has_no_name_and_bytes_are_in_base_64():
    found = described(lambda text: {"same": text}, text=[b"good", b"\xff"])
    asked = found["rest"]["request"]["inputs"]["text"]
    assert asked == found["rest"]["response"]["outputs"] == ["good", {"b64": "/w=="}]


def test_requests_of_any_length_warm_up(tmp_path):
    requests = [("s", {"ids": np.zeros([1, size], "int32")}) for size in (1, 127, 999)]
    write_warmup_requests(tmp_path, "m", requests)
    records = tf.data.TFRecordDataset(str(tmp_path / WARMUP_FILE))
    for record, (_, inputs) in zip(records, requests, strict=True):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        asked = log.predict_log.request
        assert (asked.model_spec.name, asked.model_spec.signature_name) == ("m", "s")
        found = tf.make_ndarray(asked.inputs["ids"])
        np.testing.assert_array_equal(found, inputs["ids"])
