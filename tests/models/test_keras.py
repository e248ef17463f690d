"""Habits of Keras users: summary, export, fit, files in a fresh process, and JAX."""

import contextlib
import importlib
import os
import subprocess
import sys
from unittest import mock

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import token_files
from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import PretrainingObjective
from albert_tf.optimizers import create_optimizer
from data_pipeline.input_pipeline import pretraining_dataset

_LOAD = """
import sys
import keras
import albert_tf
import numpy as np
for path in sys.argv[1:]:
    model = keras.models.load_model(path)
    print(type(model).__name__, type(model.optimizer).__name__)
    np.save(path + ".npy", model(np.ones((1, 5), "int32")))
"""


@pytest.fixture
def pretraining_model(material):
    config = albert_tf.AlbertConfig.from_json_file(material / "config.json")
    keras.utils.set_random_seed(1)
    return albert_tf.AlbertForPreTraining(config)


def batch_of(material, size):
    [batch] = pretraining_dataset(
        str(material / "data" / "train.tfrecord"),
        albert_tf.load_tokenizer(material / "vocab.model"),
        size,
        max_seq_length=16,
        max_predictions_per_seq=3,
        seed=1,
        training=False,
    ).take(1)
    return batch


def test_keras_quantizes_no_model(pretraining_model):
    """It would warn, and leave every weight as it is."""
    model = pretraining_model
    with pytest.raises(UserError, match="cannot quantize an .*--compute_dtype=int8"):
        model.quantize("int8")
    with pytest.raises(UserError, match="cannot quantize an .*--compute_dtype=int8"):
        type(model).from_config({**model.get_config(), "dtype": "int8_from_float32"})


@pytest.mark.slow
def test_export(tiny_config, tiny_features, tmp_path, monkeypatch):
    model = albert_tf.AlbertModel(tiny_config(num_hidden_layers=1))
    model.export(tmp_path / "exported", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "exported"))
    features = {k: tiny_features[k] for k in model.exported_features}
    found = loaded.serve(features)
    for name, value in model(features).items():
        if name != "hidden_states":
            np.testing.assert_allclose(found[name], value, atol=1e-6)
    signature = loaded.signatures["serving_default"].structured_input_signature[1]
    assert set(signature) == set(model.exported_features)
    assert {tuple(spec.shape) for spec in signature.values()} == {(None, None)}
    names = ("input_ids", "input_mask")
    specs = {name: tf.TensorSpec((2, 7), "int32", name) for name in names}
    model.export(tmp_path / "fixed", verbose=False, input_signature=[specs])
    loaded = tf.saved_model.load(str(tmp_path / "fixed"))
    signature = loaded.signatures["serving_default"].structured_input_signature[1]
    found = {name: tuple(spec.shape) for name, spec in signature.items()}
    assert found == dict.fromkeys(specs, (2, 7))
    write = mock.Mock()
    monkeypatch.setattr(token_files, "write_onnx_model", write)
    for chosen, shapes in (
        (None, dict.fromkeys(model.exported_features, (None, None))),
        ([specs], found),
    ):
        model.export(tmp_path / "x.onnx", "onnx", chosen)
        assert write.call_args.args == (model, shapes, tmp_path / "x.onnx")


@pytest.mark.slow
def test_evaluate_gives_the_objective(material, pretraining_model):
    model = pretraining_model
    model.compile(optimizer="sgd")
    rows = batch_of(material, 64)
    for some in (slice(1, 2), slice(64)):
        batch = {name: values[some] for name, values in rows.items()}
        found = model.evaluate(tf.data.Dataset.from_tensors(batch), verbose=0)
        objective = PretrainingObjective()
        sums, metrics = objective(model, batch, training=False, dropout_seed=None)
        weights = objective.denominators(batch)
        loss = sums["masked_lm"] / (weights["masked_lm"] + 1e-5)
        loss += sums["sentence_order"] / weights["sentence_order"]
        expected = [loss, *(right / weight for right, weight in metrics.values())]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert found[-1] > 0
    model.sentence_order_head.trainable = False
    model.compile(optimizer="sgd")
    rows = tf.data.Dataset.from_tensors(batch)
    logs = model.evaluate(rows, verbose=0, return_dict=True)
    masked = sums["masked_lm"] / weights["masked_lm"]
    np.testing.assert_allclose(logs["loss"], masked, rtol=1e-5)


def test_own_loss_and_labels(pretraining_model):
    """`compile(loss=…)` and (features, labels) work as in any Keras model."""
    model = pretraining_model
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="sgd", loss={"sentence_order_logits": loss})
    features = {"input_ids": np.ones((2, 5), "int32")}
    labels = {"sentence_order_logits": np.array([0, 1])}
    logs = model.evaluate(features, labels, verbose=0, return_dict=True)
    assert not any("accuracy" in name for name in logs)
    outputs = model(features)
    expected = [loss(values, outputs[name]) for name, values in labels.items()]
    np.testing.assert_allclose([logs["loss"]], expected, rtol=1e-5)
    model.compile(optimizer="sgd")
    with pytest.raises(UserError, match="batches lack masked_lm_ids; give fit the ba"):
        model.evaluate(features, verbose=0)


@pytest.mark.slow
def test_two_devices_take_the_mean(material, two_replicas):
    config = albert_tf.AlbertConfig.from_json_file(material / "config.json")
    batch = batch_of(material, 32)
    half = {name: value[:16] for name, value in batch.items()}
    twice = {name: np.concatenate([value, value]) for name, value in half.items()}
    found = []
    # Each replica gets the same rows as the only one.
    for scope, rows in ((two_replicas.scope, twice), (contextlib.nullcontext, half)):
        keras.utils.set_random_seed(1)
        with scope():
            model = albert_tf.AlbertForPreTraining(config)
            model.compile(optimizer=keras.optimizers.SGD(0.1))
        before = np.array(model.albert.pooler.kernel)
        data = tf.data.Dataset.from_tensors(rows)
        logs = model.fit(data, verbose=0, shuffle=False).history
        found.append((logs["loss"][0], model.albert.pooler.kernel - before))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-6)


@pytest.mark.slow
def test_a_fresh_process_loads_files(tiny_config, tmp_path):
    rules = {"lamb": ("LAMB", "polynomial"), "muon": ("Muon", "wsd")}
    model = albert_tf.AlbertForSequenceClassification(tiny_config(), labels=["a", "b"])
    paths = []
    for optimizer, (_, schedule) in rules.items():
        rule = create_optimizer(optimizer, 1e-3, 10, 2, schedule)
        model.compile(optimizer=rule, loss="mse")
        paths.append(str(tmp_path / f"{optimizer}.keras"))
        model.save(paths[-1])
    command = [sys.executable, "-c", _LOAD, *paths]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    names = [f"AlbertForSequenceClassification {name}" for name, _ in rules.values()]
    assert found.stdout.splitlines() == names
    expected = model(np.ones((1, 5), "int32"))
    for path in paths:
        np.testing.assert_allclose(np.load(f"{path}.npy"), expected, atol=1e-6)


def test_every_class_is_where_the_table_says():
    known = keras.saving.get_custom_objects()
    for name, module in albert_tf._OF_KERAS.items():
        assert getattr(importlib.import_module(module), name).__name__ == name
        assert known[f"albert_tf>{name}"].__name__ == name


PROGRAM = """
import json
import sys

sys.modules["tensorflow"] = None  # whoever imports it gets an ImportError

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining

assert keras.backend.backend() == "jax"
config = AlbertConfig.from_dict(json.loads(sys.argv[1]))
model = AlbertForPreTraining(config)
weights = np.load(sys.argv[2])
for name, variable in model.official_variables().items():
    variable.assign(weights[name])
features = dict(np.load(sys.argv[3]))
outputs = model(features)
np.savez(sys.argv[4], **{name: np.asarray(value) for name, value in outputs.items()})


def dropped(seed):
    seed = keras.ops.convert_to_tensor(seed, "int32")
    outputs = model(features, training=True, dropout_seed=seed)
    return np.asarray(outputs["sequence_output"])


assert (dropped([1, 2]) == dropped([1, 2])).all()
assert abs(dropped([1, 2]) - dropped([1, 3])).max() > 0.1
with pytest.raises(UserError, match="need the Keras backend tensorflow, not jax"):
    AlbertForPreTraining(config, depth_loop=True)
"""


@pytest.mark.slow
def test_jax_gives_the_outputs_of_tensorflow(
    tiny_config, tiny_features, tmp_path, project
):
    config = tiny_config(hidden_dropout_prob=0.1, num_hidden_layers=2)
    model = albert_tf.AlbertForPreTraining(config)
    weights = {name: v.numpy() for name, v in model.official_variables().items()}
    paths = [str(tmp_path / name) for name in ("weights.npz", "in.npz", "out.npz")]
    np.savez(paths[0], **weights)
    np.savez(paths[1], **tiny_features)
    model.config.to_json_file(tmp_path / "config.json")
    config = (tmp_path / "config.json").read_text()
    # Without tests/absent, which hides JAX.
    environment = {**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": str(project)}
    command = [sys.executable, "-c", PROGRAM, config, *paths]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path)
    theirs = np.load(paths[2])
    for name, value in model(tiny_features).items():
        np.testing.assert_allclose(theirs[name], value, atol=1e-5)
