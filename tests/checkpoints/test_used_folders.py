"""A folder in which a model was saved holds that model, and nothing of another."""

import json
import os

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import tokenizer as tokenizers

FORMS = ("model_directory", "huggingface", "tf1")
TASK = {"task": {"kind": "single_label", "name": "custom", "labels": ["no", "yes"]}}


@pytest.fixture
def words(vocabulary, tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary(["a"]))
    return load_tokenizer(tmp_path / "vocab.txt")


def files_of(folder):
    return set(os.listdir(folder)) - {"SHA256SUMS"}


@pytest.mark.parametrize(
    ("earlier", "form"), [*zip(FORMS, (*FORMS[1:], FORMS[0]), strict=True)]
)
def test_one_form_takes_the_place_of_another(
    earlier, form, tiny_config, words, tmp_path
):
    old = AlbertForSequenceClassification(tiny_config(), num_labels=2)
    new, folder = AlbertModel(tiny_config(hidden_size=24)), tmp_path / "used"
    old.save_pretrained(folder, words, TASK, format=earlier)
    (folder / "notes.txt").write_text("mine")
    new.save_pretrained(folder, format=form)
    loaded = AlbertModel.from_pretrained(folder)
    np.testing.assert_array_equal(loaded.pooler.kernel, new.pooler.kernel)
    new.save_pretrained(tmp_path / "fresh", format=form)
    assert files_of(folder) == files_of(tmp_path / "fresh") | {"notes.txt"}
    # A card is there to be edited, so that no checksum holds it.
    listed = files_of(tmp_path / "fresh") - {"README.md"}
    assert checksums.read(folder).keys() == listed
    with pytest.raises(UserError, match="Expected one tokenizer"):
        load_tokenizer(folder)


@pytest.mark.parametrize("form", FORMS)
def test_one_vocabulary_takes_the_place_of_another(
    form, tiny_config, words, xlnet_tokenizer, tmp_path
):
    model = AlbertModel(tiny_config(vocab_size=100))
    model.save_pretrained(tmp_path / "used", xlnet_tokenizer, format=form)
    model.save_pretrained(tmp_path / "used", words, format=form)
    found = load_tokenizer(tmp_path / "used")
    assert found.fingerprint() == words.fingerprint()
    assert not list((tmp_path / "used").glob("*.model"))


def test_a_vocabulary_stays_with_the_model_that_it_is_of(
    tiny_config, words, tmp_path, monkeypatch
):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a", words)
    AlbertModel.from_pretrained(tmp_path / "a").save_pretrained(tmp_path / "a")
    assert load_tokenizer(tmp_path / "a").fingerprint() == words.fingerprint()
    words.save(tmp_path / "b")
    for _ in range(2):
        AlbertModel(tiny_config()).save_pretrained(tmp_path / "b")
    assert load_tokenizer(tmp_path / "b").fingerprint() == words.fingerprint()
    monkeypatch.setattr(tokenizers, "_SAVED_ALONE", set())  # as in another process
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "b")
    assert "vocab.txt" not in files_of(tmp_path / "b")


def test_files_of_others_stay_and_nobody_vouches_for_them(tiny_config, words, tmp_path):
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a", words)
    (tmp_path / "a" / "SHA256SUMS").unlink()
    (tmp_path / "a" / "training_info.json").write_text(json.dumps(TASK))
    before = (tmp_path / "a" / "vocab.txt").read_bytes()
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a")
    assert (tmp_path / "a" / "vocab.txt").read_bytes() == before
    assert "vocab.txt" not in checksums.read(tmp_path / "a")
    # Only a model of ours has this one, and it would tell of another's task.
    assert not (tmp_path / "a" / "training_info.json").exists()


def test_a_model_of_others_that_would_be_read_instead_is_refused(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    model.save_pretrained(tmp_path / "a", format="huggingface")
    (tmp_path / "a" / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match=r"model\.safetensors would be read instead"):
        model.save_pretrained(tmp_path / "a", format="tf1")
    model.save_pretrained(tmp_path / "a")
    assert "model.safetensors" in files_of(tmp_path / "a")


@pytest.mark.parametrize(
    ("form", "value"), [*zip(FORMS, (np.nan, np.inf, -np.inf), strict=True)]
)
def test_weights_that_are_no_numbers_are_named(form, value, tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    model.pooler.bias.assign([0.0] * 11 + [value])
    model.save_pretrained(tmp_path, format=form)
    with pytest.raises(UserError, match="NaN or infinity in bert/pooler/dense/bias"):
        AlbertModel.from_pretrained(tmp_path)
