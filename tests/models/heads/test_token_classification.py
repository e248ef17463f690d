"""The head that classifies tokens."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.checkpoints.loading import find_head
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.models.token_classification import AlbertForTokenClassification

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


def test_it_equals_hugging_face(tiny_config, features, tmp_path):
    model = waved(AlbertForTokenClassification(tiny_config(), num_labels=3))
    np.testing.assert_allclose(model(features)[0], _GOLDEN, rtol=0, atol=1e-5)


@pytest.mark.parametrize("save", [save_huggingface, save_tf1_checkpoint])
def test_it_is_written_and_loaded_again(save, tiny_config, features, tmp_path):
    model = AlbertForTokenClassification(tiny_config(), None, 0.3, _TAGS)
    prefix = tmp_path / "model.ckpt-0" if save is save_tf1_checkpoint else tmp_path
    save(model, prefix)
    loaded = AlbertForTokenClassification.from_pretrained(tmp_path)
    assert not loaded.load_report.new
    np.testing.assert_array_equal(loaded(features), model(features))
    assert find_head(tmp_path)[0] is AlbertForTokenClassification
    # The classifier of tokens is none of texts.
    other = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
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
    loaded = albert_tf.AlbertForTokenClassification.from_pretrained(tmp_path)
    assert (loaded.labels, loaded.classifier_dropout_prob) == (tuple(_TAGS), 0.3)
    assert loaded.task_info()["task"]["kind"] == "tagging"


def test_of_other_classes_nobody_knows_what_to_make(tiny_config):
    for labels in (["B-PER", "I-PER"], ["O", "person"], ["LABEL_0", "LABEL_1"]):
        model = AlbertForTokenClassification(tiny_config(), labels=labels)
        assert model.task_info() is None
    model = AlbertForTokenClassification(tiny_config(), labels=["NOUN", "VERB"])
    assert model.task_info()["task"]["scheme"] == "plain"
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
