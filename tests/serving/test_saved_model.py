"""The SavedModel stands alone: moved elsewhere, loaded by TensorFlow only."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2

from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.description import describe_signatures
from albert_tf.serving.description import write_warmup_requests
from albert_tf.serving.predictor import Predictor

pytestmark = pytest.mark.slow

_CLIENT = """
import json, sys
import tensorflow as tf
import tensorflow_text
from tensorflow.python.framework import op_def_registry
loaded = tf.saved_model.load(sys.argv[1])
answer = loaded.signatures["serving_default"](text=tf.constant(["a good film", ""]))
ops = set()
for signature in loaded.signatures.values():
    graph = signature.graph.as_graph_def()
    ops |= {n.op for n in graph.node}
    ops |= {n.op for function in graph.library.function for n in function.node_def}
print(json.dumps({
    "answer": {k: v.numpy().tolist() for k, v in answer.items() if k != "label"},
    "modules": sorted(m for m in sys.modules if m.split(".")[0] == "albert_tf"),
    "ops": sorted(ops),
    "unknown": [op for op in ops if op_def_registry.get(op) is None],
}))
"""


def test_a_process_with_tensorflow_and_its_text_ops_only(classifier, tmp_path):
    moved = tmp_path / "elsewhere" / "7"
    shutil.copytree(classifier.version, moved)
    command = [sys.executable, "-c", _CLIENT, str(moved)]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["modules"] == found["unknown"] == []
    expected = Predictor(classifier.version).arrays(["a good film", ""])
    shares = found["answer"]["probabilities"]
    np.testing.assert_allclose(shares, expected["probabilities"], atol=1e-6)
    assert not [op for op in found["ops"] if "PyFunc" in op or "Lookup" in op]


def test_signature_json_tells_the_truth(pair_classifier):
    signatures = tf.saved_model.load(str(pair_classifier.version)).signatures
    described = pair_classifier.description
    assert described["serves"] == "classification"
    assert described["task"]["labels"] == ["no", "so", "yes"]
    assert set(described["signatures"]) == set(signatures)
    text = described["signatures"]["serving_default"]
    assert text["inputs"]["text_pair"] == {"dtype": "string", "shape": [None]}
    assert text["outputs"]["probabilities"]["shape"] == [None, 3]
    for name in ("serving_default", "tokens"):
        example = described["signatures"][name]["rest"]
        inputs = {k: tf.constant(v) for k, v in example["request"]["inputs"].items()}
        answer = signatures[name](**inputs)["probabilities"]
        told = example["response"]["outputs"]["probabilities"]
        np.testing.assert_allclose(answer, told, atol=1e-5)
        written = "\n".join(described["signatures"][name]["grpc"]["request"])
        asked = text_format.Parse(written, predict_pb2.PredictRequest())
        assert asked.model_spec.signature_name == name
        for key, own in inputs.items():
            np.testing.assert_array_equal(tf.make_ndarray(asked.inputs[key]), own)


def test_warmup_requests_replay(masked_lm):
    version = masked_lm.version
    signatures = tf.saved_model.load(str(version)).signatures
    replayed = []
    for record in tf.data.TFRecordDataset(str(version / WARMUP_FILE)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        asked = log.predict_log.request
        assert asked.model_spec.name == version.parent.name
        name = asked.model_spec.signature_name
        inputs = {k: tf.constant(tf.make_ndarray(v)) for k, v in asked.inputs.items()}
        signatures[name](**inputs)
        replayed.append(name)
    assert replayed == ["serving_default", "tokens", "examples"]


def test_one_answer_has_no_name_and_bytes_are_in_base_64():
    spec = tf.TensorSpec([None], tf.string)
    same = tf.function(lambda text: {"same": text}).get_concrete_function(text=spec)
    inputs, meaning = {"s": {"text": [b"good", b"\xff"]}}, {"same": "a text"}
    found = describe_signatures({"s": same}, inputs, meaning)["s"]
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
