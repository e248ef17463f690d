"""SavedModels answer as the Python path does, stand alone, and describe themselves."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2

from albert_tf.serving.description import WARMUP_FILE
from albert_tf.serving.description import describe_signatures
from albert_tf.serving.description import write_warmup_requests
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.tokenized_examples import tokenize_texts
from tests.serving.answers import described
from tests.serving.answers import example
from tests.serving.answers import shares

pytestmark = pytest.mark.slow

_TEXTS = [
    "the film was very good .",
    "",
    "   ",
    "good",
    "it is not a bad plot, and not a good one. " * 40,
    b"bad \xff\xfe film \xc3",
    "films plotting über 电影 \u2028 \U0001f600",
]
_DECODED = [t if isinstance(t, str) else t.decode("utf-8", "replace") for t in _TEXTS]
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


def _python_path(served, texts, pairs=None):
    """Probabilities by the tokenizer and the model, no graph of serving involved."""
    examples = tokenize_texts(texts, pairs, served.tokenizer, served.length)
    logits = OutputsPredictor(served.model, 16, served.length)(examples)
    return served.task.probabilities(logits)


def test_classification_of_strings(classifier):
    answers = Predictor(classifier.version).arrays(_TEXTS * 15)
    expected = _python_path(classifier, _DECODED * 15)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    labels = answers["label"].tolist()
    assert labels == [classifier.task.labels[i] for i in expected.argmax(axis=1)]


def test_pairs_are_truncated_as_in_training(opened, export_of):
    words = np.random.default_rng(0).choice(["good", "bad", "film"], (12, 40))
    texts = [" ".join(row[: 3 * i]) for i, row in enumerate(words)]
    pairs = [" ".join(row[: 40 - 3 * i]) for i, row in enumerate(words)]
    expected = _python_path(opened("pairs"), texts, pairs)
    found = shares(export_of("pairs"), texts, pairs)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_model_is_in_the_file_once(classifier):
    data = (classifier.version / "saved_model.pb").read_bytes()
    saved = saved_model_pb2.SavedModel.FromString(data)
    functions = saved.meta_graphs[0].graph_def.library.function
    with_products = [f for f in functions if any(n.op == "MatMul" for n in f.node_def)]
    assert len(with_products) == 1


def test_examples_may_leave_mask_and_segments_out(classifier):
    signatures = tf.saved_model.load(str(classifier.version)).signatures
    batch = {"input_ids": tf.constant([[2, 7, 11, 3, 0], [2, 12, 6, 12, 3]])}
    mask = tf.sequence_mask((4, 5), 5, tf.int32)
    features = {**batch, "input_mask": mask, "segment_ids": tf.zeros_like(mask)}
    expected = signatures["tokens"](**features)["probabilities"]
    rows = [example(input_ids=[2, 7, 11, 3]), example(input_ids=[2, 12, 6, 12, 3])]
    answer = signatures["examples"](examples=tf.constant(rows))
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)


def test_numbers_and_any_number_of_labels(opened):
    served = opened("regression")
    answers = Predictor(served.model, served.tokenizer).arrays(_TEXTS)
    expected = _python_path(served, _DECODED)[:, 0]
    np.testing.assert_allclose(answers["score"], expected, atol=1e-5)
    served = opened("multi_label")
    predictor, labels = Predictor(served.folder), served.task.labels
    answers = predictor.arrays(_TEXTS)
    expected = _python_path(served, _DECODED)
    np.testing.assert_allclose(answers["probabilities"], expected, atol=1e-5)
    names = np.where(expected > 0.5, labels, "")
    np.testing.assert_array_equal(answers["labels"], names)
    answer = predictor(_TEXTS[0])
    assert answer["labels"] == [name for name in names[0] if name]
    assert tuple(answer["probabilities"]) == labels


def test_masked_lm(opened, export_of):
    masked_lm = opened("pretraining")
    texts = ["the [MASK] was [MASK]", "good", "a [MASK]film"]
    answers = Predictor(export_of("pretraining", task="masked_lm")).arrays(texts)
    positions = [[2, 4], [0, 0], [2, 0]]
    np.testing.assert_array_equal(answers["masked_lm_positions"], positions)
    tokenizer = masked_lm.tokenizer
    mask, (the, was) = tokenizer.mask_id, tokenizer.encode("the was")
    ids = [[tokenizer.cls_id, the, mask, was, mask, tokenizer.sep_id]]
    logits = masked_lm.model(
        {"input_ids": tf.constant(ids), "masked_lm_positions": tf.constant([[2, 4]])}
    )["masked_lm_logits"]
    expected = np.sort(tf.nn.softmax(logits).numpy()[0])[:, ::-1][:, :5]
    np.testing.assert_allclose(answers["probabilities"][0], expected, atol=1e-5)
    best = np.argmax(logits[0], axis=-1)
    assert [t[0] for t in answers["tokens"][0]] == [tokenizer.pieces[i] for i in best]
    assert set(answers["tokens"][1].ravel()) == {""}
    assert answers["probabilities"][2, 1].tolist() == [0.0] * 5


def test_a_process_with_tensorflow_and_its_text_ops_only(classifier, tmp_path):
    moved = shutil.copytree(classifier.version, tmp_path / "elsewhere" / "7")
    command = [sys.executable, "-c", _CLIENT, str(moved)]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["modules"] == found["unknown"] == []
    expected = shares(classifier.version, ["a good film", ""])
    answered = found["answer"]["probabilities"]
    np.testing.assert_allclose(answered, expected, atol=1e-6)
    assert not [op for op in found["ops"] if "PyFunc" in op or "Lookup" in op]


def test_signature_json_tells_the_truth(export_of):
    version = export_of("pairs")
    signatures = tf.saved_model.load(str(version)).signatures
    facts = described(version)
    assert facts["serves"] == "classification"
    assert facts["task"]["labels"] == ["no", "so", "yes"]
    assert set(facts["signatures"]) == set(signatures)
    text = facts["signatures"]["serving_default"]
    assert text["inputs"]["text_pair"] == {"dtype": "string", "shape": [None]}
    assert text["outputs"]["probabilities"]["shape"] == [None, 3]
    for name in ("serving_default", "tokens"):
        told = facts["signatures"][name]["rest"]
        inputs = {k: tf.constant(v) for k, v in told["request"]["inputs"].items()}
        answer = signatures[name](**inputs)["probabilities"]
        expected = told["response"]["outputs"]["probabilities"]
        np.testing.assert_allclose(answer, expected, atol=1e-5)
        written = "\n".join(facts["signatures"][name]["grpc"]["request"])
        asked = text_format.Parse(written, predict_pb2.PredictRequest())
        assert asked.model_spec.signature_name == name
        for key, own in inputs.items():
            np.testing.assert_array_equal(tf.make_ndarray(asked.inputs[key]), own)


def _warmup_requests(folder):
    """Yields a request's model, signature and inputs."""
    for record in tf.data.TFRecordDataset(str(folder / WARMUP_FILE)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        asked = log.predict_log.request
        inputs = {name: tf.make_ndarray(own) for name, own in asked.inputs.items()}
        yield asked.model_spec.name, asked.model_spec.signature_name, inputs


def test_warmup_requests_replay(export_of, tmp_path):
    version = export_of("pretraining", task="masked_lm")
    signatures, replayed = tf.saved_model.load(str(version)).signatures, []
    for model, name, inputs in _warmup_requests(version):
        assert model == version.parent.name
        signatures[name](**{k: tf.constant(v) for k, v in inputs.items()})
        replayed.append(name)
    assert replayed == ["serving_default", "tokens", "examples"]
    # Requests of any length.
    rows = [np.zeros([1, size], "int32") for size in (1, 127, 999)]
    write_warmup_requests(tmp_path, "m", [("s", {"ids": row}) for row in rows])
    for (*names, found), row in zip(_warmup_requests(tmp_path), rows, strict=True):
        assert names == ["m", "s"]
        np.testing.assert_array_equal(found["ids"], row)


def test_one_answer_has_no_name_and_bytes_are_in_base_64():
    spec = tf.TensorSpec([None], tf.string)
    same = tf.function(lambda text: {"same": text}).get_concrete_function(text=spec)
    inputs, meaning = {"s": {"text": [b"good", b"\xff"]}}, {"same": "a text"}
    found = describe_signatures({"s": same}, inputs, meaning)["s"]
    asked = found["rest"]["request"]["inputs"]["text"]
    assert asked == found["rest"]["response"]["outputs"] == ["good", {"b64": "/w=="}]
