"""Classifiers of texts and of tokens against their parts."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import bundle
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.classification import AlbertForTokenClassification
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.registry import task_of


def dataset():
    """16 texts of 6 tokens whose label is whether their second token is 7."""
    random = np.random.default_rng(0)
    ids = random.integers(8, 37, (16, 6), dtype="int32")
    labels = np.tile([0, 1], 8)
    ids[:, 1] = 5 + 2 * labels
    features = {"input_ids": ids, "input_mask": np.ones_like(ids)}
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(8)


def compiled_model(config):
    keras.utils.set_random_seed(1)
    model = AlbertForSequenceClassification(config, num_labels=2)
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


@pytest.mark.slow
def test_fit_learns_and_the_file_keeps_it(tiny_config, tmp_path):
    config = tiny_config(num_hidden_layers=2, hidden_dropout_prob=0.1)
    model = compiled_model(config)
    history = model.fit(dataset(), epochs=12, verbose=0, shuffle=False).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    before = model.evaluate(dataset(), verbose=0)
    model.save(tmp_path / "classifier.keras")
    loaded = keras.models.load_model(tmp_path / "classifier.keras")
    np.testing.assert_allclose(loaded.evaluate(dataset(), verbose=0), before, rtol=1e-6)
    assert loaded.num_labels == 2


@pytest.mark.nightly
def test_fit_on_two_devices(tiny_config, two_replicas):
    with two_replicas.scope():
        model = compiled_model(tiny_config(num_hidden_layers=2))
    history = model.fit(dataset(), epochs=8, verbose=0, shuffle=False).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]


def test_logits_are_a_plain_float32_tensor(tiny_config, tiny_features):
    model = AlbertForSequenceClassification(tiny_config(), num_labels=5)
    logits = model(tiny_features)
    assert logits.shape == (2, 5)
    assert logits.dtype == tf.float32


def test_head_initialiser_ignores_the_config(tiny_config):
    config = tiny_config(hidden_size=192, initializer_range=0.3)
    model = AlbertForSequenceClassification(config, num_labels=9)
    weights = model.classifier.output_weights.numpy()
    assert 0.015 < weights.std() < 0.02  # truncated at two deviations
    assert np.abs(weights).max() <= 0.04
    kernel = model.albert.pooler.kernel.numpy()
    assert 0.24 < kernel.std() < 0.28


_TAGS = ["O", "B-PER", "I-PER"]


@pytest.fixture
def features(tiny_features):
    tiny_features.pop("masked_lm_positions")
    return tiny_features


def waved(model):
    """Gives every variable values that another program can make as well."""
    for place, (name, variable) in enumerate(model.official_variables().items()):
        numbers = np.arange(1, np.prod(variable.shape) + 1)
        values = 0.5 * np.sin(0.7 * numbers**1.5 + place) + name.endswith("gamma")
        variable.assign(values.reshape(variable.shape).astype(np.float32))
    return model


def test_each_token_has_its_logits(tiny_config, features):
    model = AlbertForTokenClassification(tiny_config(), labels=_TAGS)
    logits = model(features).numpy()
    assert (logits.shape, logits.dtype) == ((2, 7, 3), np.float32)
    encoded = model.albert(features)["sequence_output"].numpy()
    weights = model.classifier.output_weights.numpy()
    np.testing.assert_allclose(logits, encoded @ weights.T, atol=1e-6)


def test_dropout_is_on_the_vectors_of_tokens(tiny_config, features):
    model = AlbertForTokenClassification(
        tiny_config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0),
        num_labels=3,
        classifier_dropout_prob=0.5,
    )
    seed = np.array([1, 2], np.int32)
    dropped = {"training": True, "dropout_seed": seed}
    once, again = (model(features, **dropped).numpy() for _ in "ab")
    np.testing.assert_array_equal(once, again)
    assert np.abs(once - model(features).numpy()).max() > 1e-3


def test_tokens_equal_hugging_face(tiny_config, features, tmp_path):
    model = waved(AlbertForTokenClassification(tiny_config(), num_labels=3))
    np.testing.assert_allclose(model(features)[0], _GOLDEN, rtol=0, atol=1e-5)


@pytest.mark.parametrize("save", [save_huggingface, save_tf1_checkpoint])
def test_it_is_written_and_loaded_again(save, tiny_config, features, tmp_path):
    model = AlbertForTokenClassification(tiny_config(), None, 0.3, _TAGS)
    prefix = tmp_path / "model.ckpt-0" if save is save_tf1_checkpoint else tmp_path
    save(model, prefix)
    loaded = AlbertForTokenClassification.from_pretrained(tmp_path)
    assert all("pooler" in name for name in loaded.load_report.new)
    np.testing.assert_array_equal(loaded(features), model(features))
    assert bundle.open(tmp_path).head()[0] is AlbertForTokenClassification
    # The classifier of tokens is none of texts.
    other = AlbertForSequenceClassification.from_pretrained(
        tmp_path, allow_missing=["bert/pooler"], num_labels=3
    )
    assert "output_weights" in other.load_report.new


def test_their_directory_names_the_tags(tiny_config, tmp_path):
    from safetensors import numpy as safetensors

    model = AlbertForTokenClassification(tiny_config(), None, 0.3, _TAGS)
    model.save_pretrained(tmp_path, format="huggingface")
    entries = json.loads((tmp_path / "config.json").read_text())
    assert entries["architectures"] == ["AlbertForTokenClassification"]
    assert entries["id2label"] == {"0": "O", "1": "B-PER", "2": "I-PER"}
    assert entries["label2id"] == {"O": 0, "B-PER": 1, "I-PER": 2}
    tensors = safetensors.load_file(tmp_path / "model.safetensors")
    assert tensors["classifier.weight"].shape == (3, 12)
    assert not [name for name in tensors if "pooler" in name]  # theirs has none
    loaded = albert_tf.AlbertForTokenClassification.from_pretrained(tmp_path)
    assert (loaded.labels, loaded.classifier_dropout_prob) == (tuple(_TAGS), 0.3)
    assert read_task(bundle.open(tmp_path)).kind == "tagging"


def task_of_head(model):
    return task_of({}, "the model", type(model), model.head_config())


def test_other_tags_leave_the_task_behind(tiny_config, tmp_path):
    model = AlbertForTokenClassification(tiny_config(), labels=_TAGS)
    info = {"task": task_of_head(model).to_dict(), "max_seq_length": 12}
    model.save_pretrained(tmp_path / "tags", training_info=info)
    written = json.loads((tmp_path / "tags" / "training_info.json").read_text())
    assert "labels" not in written["task"]  # head.json has them
    unnamed = ["LABEL_0", "LABEL_1", "LABEL_2"]
    loaded = AlbertForTokenClassification.from_pretrained(
        tmp_path / "tags", labels=unnamed
    )
    assert loaded.task_info() is None
    loaded.save_pretrained(tmp_path / "other")
    same = AlbertForTokenClassification.from_pretrained(tmp_path / "tags", labels=_TAGS)
    assert same.task_info() == json.loads(json.dumps(info))


def test_of_other_classes_nobody_knows_what_to_make(tiny_config):
    for labels in (["B-PER", "I-PER"], ["O", "person"], ["LABEL_0", "LABEL_1"]):
        model = AlbertForTokenClassification(tiny_config(), labels=labels)
        assert task_of_head(model) is None
    model = AlbertForTokenClassification(tiny_config(), labels=["NOUN", "VERB"])
    assert task_of_head(model).scheme == "plain"
    with pytest.raises(UserError, match="labels must be 3 different names, got O, O"):
        AlbertForTokenClassification(tiny_config(), 3, labels=["O", "O", "B-A"])
    with pytest.raises(UserError, match="num_labels must be at least 1, got None"):
        AlbertForTokenClassification(tiny_config())


# Of transformers 5.23.0, with the same weights.
_GOLDEN = [
    [1.4338322, 0.6295663, -1.445673],
    [1.4496549, 0.6226193, -1.4410719],
    [1.407653, 0.641358, -1.4498843],
    [1.4400338, 0.6342612, -1.4338164],
    [1.438499, 0.6261237, -1.4407934],
    [1.3944019, 0.6485299, -1.4429164],
    [1.4149003, 0.6393499, -1.4411387],
]
