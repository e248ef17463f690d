"""Model directories: written ones are read back, and misfits are named."""

import collections
import json
import os

import h5py
import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization.wordpiece import WordPieceTokenizer


@pytest.fixture
def pretrained(tiny_config, tmp_path):
    model = AlbertForPreTraining(tiny_config())
    model.save_pretrained(tmp_path)
    return model


@pytest.fixture
def classifier(tiny_config, tmp_path):
    model = AlbertForSequenceClassification(
        tiny_config(), num_labels=3, classifier_dropout_prob=0.2
    )
    model.save_pretrained(tmp_path)
    return model


def assert_same_weights(model, other, names):
    variables, others = model.official_variables(), other.official_variables()
    for name in names:
        np.testing.assert_array_equal(variables[name], others[name])


def test_round_trip(pretrained, tmp_path, tiny_features):
    loaded = AlbertForPreTraining.from_pretrained(tmp_path)
    assert loaded.config == pretrained.config
    assert_same_weights(loaded, pretrained, pretrained.official_variables())
    assert len(loaded.load_report.loaded) == 32
    np.testing.assert_array_equal(
        loaded(tiny_features)["masked_lm_logits"],
        pretrained(tiny_features)["masked_lm_logits"],
    )


def arrays_in(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item.shape})
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
    return found


_LAYERS = "layers/transformer_stack"
_WEIGHTS = {
    "embeddings/vars": 3,
    "embeddings/layer_norm/vars": 2,
    "embedding_mapping/vars": 2,
    "layers/dense_1/vars": 2,  # the pooler
    f"{_LAYERS}/attention/self_attention/key/vars": 2,
    f"{_LAYERS}/attention/self_attention/projections/dense/vars": 2,  # query
    f"{_LAYERS}/attention/self_attention/projections/dense_2/vars": 2,  # value
    f"{_LAYERS}/attention/self_attention/output_dense/vars": 2,
    f"{_LAYERS}/attention/self_attention/layer_norm/vars": 2,
    f"{_LAYERS}/feed_forward/feed_forward/intermediate/vars": 2,
    f"{_LAYERS}/feed_forward/feed_forward/output_dense/vars": 2,
    f"{_LAYERS}/feed_forward/feed_forward/layer_norm/vars": 2,
}


def test_names_in_the_weights_file_stay(tiny_config, tmp_path):
    """Keras takes them from the attributes of the layers, which may come and go."""
    AlbertModel(tiny_config()).save_pretrained(tmp_path)
    names = [f"{name}/{i}" for name, count in _WEIGHTS.items() for i in range(count)]
    assert sorted(arrays_in(tmp_path / "model.weights.h5")) == sorted(names)


def test_weights_files_of_the_first_release_load(pretrained, tmp_path):
    """Those hold query and value beside the key."""
    with h5py.File(tmp_path / "model.weights.h5", "r+") as file:
        found = []
        file.visit(lambda name: found.append(name) if "/projections" in name else None)
        parent = file[min(found, key=len)].parent
        parent.move("projections/dense", "query")
        parent.move("projections/dense_2", "value")
        del parent["projections"]
    (tmp_path / "SHA256SUMS").unlink()
    loaded = AlbertForPreTraining.from_pretrained(tmp_path)
    assert_same_weights(loaded, pretrained, pretrained.official_variables())


def test_files(tiny_config, tmp_path, vocabulary):
    tokenizer = WordPieceTokenizer(vocabulary(["a"]).encode())
    AlbertModel(tiny_config()).save_pretrained(
        tmp_path, tokenizer=tokenizer, training_info={"steps": 5}
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        "albert_config.json",
        "head.json",
        "model.weights.h5",
        "SHA256SUMS",
        "tokenizer_config.json",
        "training_info.json",
        "vocab.txt",
    }
    assert json.loads((tmp_path / "training_info.json").read_text()) == {"steps": 5}


def test_each_file_of_the_description_is_read_once(
    tiny_config, tmp_path, vocabulary, monkeypatch
):
    tokenizer = WordPieceTokenizer(vocabulary(["a"]).encode())
    AlbertModel(tiny_config()).save_pretrained(tmp_path, tokenizer, {"step": 5})
    read, read_bytes = [], storage.read_bytes

    def counting(path):
        read.append(os.path.basename(path))
        return read_bytes(path)

    monkeypatch.setattr(storage, "read_bytes", counting)
    opened = bundle.open(tmp_path)
    opened.tokenizer()
    opened.model()
    # The checksums once more, to see that nobody has replaced the folder.
    assert collections.Counter(read) == {
        "SHA256SUMS": 2,
        "albert_config.json": 1,
        "head.json": 1,
        "tokenizer_config.json": 1,
        "training_info.json": 1,
        "vocab.txt": 1,
    }


def test_new_head_is_reported(pretrained, tmp_path):
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=4)
    report = model.load_report
    assert len(report.loaded) == 25
    assert report.missing == ("output_weights", "output_bias")
    assert all(name.startswith("cls/") for name in report.unexpected)
    assert "new in the model: output_weights, output_bias" in str(report)
    assert_same_weights(model, pretrained, report.loaded)


def test_another_number_of_labels_replaces_the_head(classifier, tmp_path):
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
    assert model.num_labels == 2
    assert model.load_report.wrong_shape == ("output_weights", "output_bias")
    assert_same_weights(model, classifier, model.load_report.loaded)


def test_labels_must_be_known(pretrained, tmp_path):
    with pytest.raises(UserError, match="has no classifier.* give num_labels"):
        AlbertForSequenceClassification.from_pretrained(tmp_path)


def test_pretraining_heads_must_be_there(classifier, tmp_path):
    with pytest.raises(UserError, match="lacks cls/predictions/transform"):
        AlbertForPreTraining.from_pretrained(tmp_path)
    model = AlbertForPreTraining.from_pretrained(tmp_path, allow_missing=["cls/"])
    assert len(model.load_report.missing) == 7
    model = AlbertForPreTraining.from_pretrained(tmp_path, allow_missing="cls/")
    assert len(model.load_report.missing) == 7


def test_a_string_does_not_free_the_head_of_another_model(pretrained, tmp_path):
    model = AlbertForSequenceClassification.from_pretrained(
        tmp_path, num_labels=4, allow_missing="cls/seq"
    )
    assert model.load_report.missing == ("output_weights", "output_bias")


def test_changed_config_is_refused(pretrained, tmp_path):
    config = json.loads((tmp_path / "albert_config.json").read_text())
    config["intermediate_size"] += 1
    (tmp_path / "albert_config.json").write_text(json.dumps(config))
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="damaged or does not fit albert_config.json"):
        AlbertForPreTraining.from_pretrained(tmp_path)


def test_unknown_model_class(pretrained, tmp_path):
    (tmp_path / "head.json").write_text('{"model": "AlbertConfig"}')
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="names the model 'AlbertConfig'"):
        AlbertForPreTraining.from_pretrained(tmp_path)


def test_head_of_another_version(pretrained, tmp_path):
    path = tmp_path / "head.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "depth": 3}))
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(
        UserError, match=r"head\.json does not describe an Albert.*depth"
    ):
        AlbertForPreTraining.from_pretrained(tmp_path)


def test_no_checkpoint(tmp_path):
    with pytest.raises(UserError, match="holds no checkpoint"):
        AlbertModel.from_pretrained(tmp_path)


@pytest.mark.parametrize("name", ["vocab_size", "intermediate_size"])
def test_a_configuration_of_far_more_than_the_weights(pretrained, tmp_path, name):
    path = tmp_path / "albert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: 2**31 - 1}))
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(
        UserError, match=r"config\.json belongs to .* an encoder of \d+,"
    ):
        AlbertForPreTraining.from_pretrained(tmp_path)
