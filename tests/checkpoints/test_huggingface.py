"""Hugging Face directories, both ways."""

import json

import numpy as np
import pytest
from safetensors import numpy as safetensors

import albert_tf
from albert_tf import bundle
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.tasks.registry import read_task
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.saved_models import assert_same_weights
from tests.vocabularies import wordpiece


def rewrite(directory, change):
    path = directory / "model.safetensors"
    tensors = safetensors.load_file(path)
    change(tensors)
    safetensors.save_file(tensors, path)
    (directory / "SHA256SUMS").unlink(missing_ok=True)


def test_export_has_the_names_of_their_file(shared, tmp_path):
    folder = shared("fixtures/huggingface_pretraining")
    save_huggingface(AlbertForPreTraining.from_pretrained(folder), tmp_path)
    theirs = safetensors.load_file(folder / "model.safetensors")
    ours = safetensors.load_file(tmp_path / "model.safetensors")
    assert set(ours) == set(theirs)
    for name, tensor in theirs.items():
        np.testing.assert_array_equal(ours[name], tensor)
    their_config = json.loads((folder / "config.json").read_text())
    our_config = json.loads((tmp_path / "config.json").read_text())
    for name in set(their_config) & set(our_config):
        assert our_config[name] == their_config[name]


@pytest.mark.slow
def test_equal_sizes_are_mapped_all_the_same(tiny_config, tiny_features, tmp_path):
    model = AlbertModel(tiny_config(embedding_size=12))
    save_huggingface(model, tmp_path)
    loaded = AlbertModel.from_pretrained(tmp_path)
    assert loaded.config.always_map_embeddings
    np.testing.assert_array_equal(loaded.embedding_mapping.kernel, np.eye(12))
    found, expected = (m(tiny_features)["sequence_output"] for m in (loaded, model))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    loaded.save_pretrained(tmp_path / "ours")
    assert AlbertModel.from_pretrained(tmp_path / "ours").config == loaded.config


@pytest.mark.slow
def test_real_weights_without_a_pooler(shared):
    folder = shared("fixtures/real_weights_kokoro")
    advice = r"lacks bert/pooler/dense/k.* --to=FOLDER --allow_missing=bert/pooler\)"
    with pytest.raises(UserError, match=f"{advice} .* in Python name them in allow_m"):
        AlbertModel.from_pretrained(folder)


@pytest.mark.slow
def test_copies_of_tied_tensors_must_be_equal(saved, tmp_path):
    def add_copies(tensors):
        table = tensors["albert.embeddings.word_embeddings.weight"]
        tensors["predictions.decoder.weight"] = table
        tensors["predictions.decoder.bias"] = tensors["predictions.bias"]
        tensors["albert.embeddings.position_ids"] = np.arange(16)[None]

    def untie(tensors):
        name = "predictions.decoder.weight"
        tensors[name] = tensors[name] + 1

    rewrite(tmp_path, add_copies)
    report = AlbertForPreTraining.from_pretrained(tmp_path).load_report
    assert report.unexpected == ()
    rewrite(tmp_path, untie)
    with pytest.raises(UserError, match=r"decoder\.weight that differs from"):
        AlbertForPreTraining.from_pretrained(tmp_path)


def test_weights_in_parts(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    save_huggingface(model, tmp_path)
    whole = tmp_path / "model.safetensors"
    tensors = safetensors.load_file(whole)
    whole.unlink()
    (tmp_path / "SHA256SUMS").unlink()
    names = sorted(tensors)
    files = {n: f"model-{i % 2}.safetensors" for i, n in enumerate(names)}
    for file in set(files.values()):
        part = {name: tensors[name] for name in names if files[name] == file}
        safetensors.save_file(part, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": files}))
    again = AlbertModel.from_pretrained(tmp_path)
    assert_same_weights(again, model)
    index.write_text(json.dumps({"weight_map": {**files, "more": files[names[0]]}}))
    with pytest.raises(UserError, match="holds more, which it does not"):
        AlbertModel.from_pretrained(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    with pytest.raises(UserError, match=r"There is no file .*gone\.safetensors"):
        AlbertModel.from_pretrained(tmp_path)


def test_weights_that_are_a_program(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(UserError, match=r"as pytorch_model\.bin, .* write it with"):
        AlbertModel.from_pretrained(tmp_path)


def test_a_new_head_has_its_own_dropout(saved, reconfigure, tmp_path):
    for rate in (0.3, None):
        reconfigure(classifier_dropout_prob=rate)
        model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
        assert model.classifier_dropout_prob == 0.1


@pytest.mark.parametrize(
    ("arguments", "entries"),
    [
        ({"labels": ["a", "b", "c"]}, {"problem_type": "single_label_classification"}),
        ({"labels": ["a"], "label_kind": "multi_label"}, {}),
        ({"label_kind": "regression"}, {"problem_type": "regression"}),
    ],
)
def test_config_json_tells_labels_and_kind(
    arguments, entries, tiny_config, reconfigure, tmp_path
):
    model = AlbertForSequenceClassification(tiny_config(), **arguments)
    save_huggingface(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert entries.items() <= config.items()
    loaded = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.head_config() == model.head_config()
    assert read_task(bundle.open(tmp_path)).kind == arguments.get(
        "label_kind", "single_label"
    )
    reconfigure(problem_type=None, sentence_transformers=None)
    kind = "single_label" if len(arguments.get("labels", ())) > 1 else "regression"
    assert read_task(bundle.open(tmp_path)).kind == kind


def test_labels_that_nobody_named(tiny_config, reconfigure, tmp_path):
    """Their library leaves the names of two out, and calls others by number."""
    save_huggingface(AlbertForSequenceClassification(tiny_config(), 2), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    reconfigure(id2label={"0": "a", "1": "b", "2": "c"})
    other = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert (other.num_labels, other.labels) == (2, None)  # as many as weights
    del config["id2label"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = AlbertForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.labels == ("LABEL_0", "LABEL_1")
    renamed = AlbertForSequenceClassification.from_pretrained(
        tmp_path, labels=["no", "yes"]
    )
    assert renamed.labels == ("no", "yes")
    assert not renamed.load_report.missing
    more = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    assert more.labels is None


@pytest.mark.slow
def test_weights_are_read_once_and_only_where_they_are_needed(
    tiny_config, tmp_path, monkeypatch
):
    labels = ["no", "yes"]
    tokenizer = WordPieceTokenizer(wordpiece(map(str, range(32))).encode())
    model = AlbertForSequenceClassification(tiny_config(), labels=labels)
    model.save_pretrained(tmp_path, tokenizer, format="huggingface")
    vectors = AlbertForTextEmbedding(tiny_config(), pooling="cls")
    vectors.save_pretrained(tmp_path / "vectors", tokenizer, format="huggingface")
    read, load_file = [], safetensors.load_file
    monkeypatch.setattr(
        safetensors, "load_file", lambda path: read.append(path) or load_file(path)
    )
    assert bundle.open(tmp_path).family is model.family
    assert bundle.open(tmp_path / "vectors").head()[1]["pooling"] == "cls"
    assert not read
    classifier = albert_tf.TextClassifier(tmp_path)
    assert (classifier.model.labels, len(read)) == (("no", "yes"), 1)
    albert_tf.Predictor(tmp_path)
    assert len(read) == 2
