"""Model directories: whole, of one model, and misfits are named."""

import contextlib
import json
import os
import resource

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.checkpoints.assignment import assign_tensors
from albert_tf.checkpoints.model_directory import _check_size
from albert_tf.checkpoints.model_directory import read_training_info
from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import tokenizer as tokenizers
from tests.saved_models import assert_same_weights

_CONFIG = "albert_config.json"


def test_another_number_of_labels_and_heads_that_may_be_missing(tiny_config, tmp_path):
    classifier = AlbertForSequenceClassification(tiny_config(), num_labels=3)
    classifier.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="lacks cls/predictions/transform"):
        AlbertForPreTraining.from_pretrained(tmp_path, allow_missing="cls/seq")
    for allowed in (["cls/"], "cls/"):
        model = AlbertForPreTraining.from_pretrained(tmp_path, allow_missing=allowed)
        assert len(model.load_report.missing) == 7
    model = AlbertForSequenceClassification.from_pretrained(tmp_path, num_labels=2)
    assert model.num_labels == 2
    found = bundle.open(tmp_path).tensors
    del found["output_bias"]
    with pytest.raises(UserError, match="lacks output_bias; name them in allow_"):
        assign_tensors(classifier, found, tmp_path)
    assert model.load_report.wrong_shape == ("output_weights", "output_bias")
    assert_same_weights(model, classifier, model.load_report.loaded)
    AlbertModel(classifier.config).save_pretrained(tmp_path / "encoder")
    with pytest.raises(UserError, match="has no classifier.* give num_labels"):
        AlbertForSequenceClassification.from_pretrained(tmp_path / "encoder")


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (_CONFIG, {"intermediate_size": 21}, f"damaged or does not fit {_CONFIG}"),
        (_CONFIG, {"vocab_size": 2**31 - 1}, r"belongs to .* an encoder of \d+,"),
        (_CONFIG, {"intermediate_size": 2**31 - 1}, "belongs to .* an encoder of"),
        ("head.json", {"model": "AlbertConfig"}, "names the model 'AlbertConfig'"),
        ("head.json", {"depth": 3}, r"head\.json does not describe an Alb.*depth"),
    ],
)
@pytest.mark.usefixtures("saved")
def test_files_that_do_not_fit(name, changes, message, tmp_path):
    path = tmp_path / "model" / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    path.with_name("SHA256SUMS").unlink()
    with pytest.raises(UserError, match=message):
        AlbertModel.from_pretrained(path.parent)


def test_both_files_have_the_same_labels(tmp_path):
    info = {"task": {"labels": ["yes", "no"]}}
    (tmp_path / "training_info.json").write_text(json.dumps(info))
    assert read_training_info(tmp_path) == info
    (tmp_path / "head.json").write_text(json.dumps({"labels": ["no", "yes"]}))
    with pytest.raises(UserError, match=r"head\.json has the labels no, yes, but trai"):
        read_training_info(tmp_path)
    for head in ({}, {"labels": []}, {"labels": ("yes", "no")}):
        assert read_training_info(tmp_path, head) == info


def test_numbers_that_both_may_hold(tmp_path):
    path, last = tmp_path / "training_info.json", 2**63 - 1
    for name, least in (("max_seq_length", 1), ("step", 0)):
        for value in (least - 1, least, last, last + 1, True, 1.5, None):
            path.write_text(json.dumps({name: value}))
            if value in (least, last) and value is not True:
                assert read_training_info(tmp_path) == {name: value}
                continue
            message = f"{name} to {value}, expected an integer of at least {least};"
            with pytest.raises(UserError, match=message):
                read_training_info(tmp_path)
    path.write_text('{"task": 3}')
    with pytest.raises(UserError, match="sets task to 3, expected an object"):
        read_training_info(tmp_path)
    _check_size("c.json", path.stat().st_size, path)  # a byte for each parameter
    with pytest.raises(UserError, match="an encoder of 12 parameters, but .* 11 bytes"):
        _check_size("c.json", 12, path)


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
def test_one_form_and_vocabulary_take_the_place_of_another(
    earlier, form, tiny_config, words, xlnet_tokenizer, tmp_path
):
    old = AlbertForSequenceClassification(tiny_config(), num_labels=2)
    config = tiny_config(hidden_size=24, vocab_size=100)
    new, folder = AlbertModel(config), tmp_path / "used"
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
    for tokenizer in (xlnet_tokenizer, words):
        new.save_pretrained(folder, tokenizer, format=form)
    assert load_tokenizer(folder).fingerprint() == words.fingerprint()
    assert not list(folder.glob("*.model"))


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
    (tmp_path / "a" / "model.safetensors").write_bytes(b"theirs")
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a")
    assert (tmp_path / "a" / "vocab.txt").read_bytes() == before
    assert (tmp_path / "a" / "model.safetensors").read_bytes() == b"theirs"
    assert not {"vocab.txt", "model.safetensors"} & {*checksums.read(tmp_path / "a")}
    # Only a model of ours has this one, and it would tell of another's task.
    assert not (tmp_path / "a" / "training_info.json").exists()
    # A form that is read later than a model of others there would stay unread.
    AlbertModel(tiny_config()).save_pretrained(tmp_path / "a", format="tf1")
    (tmp_path / "a" / "config.json").write_text("{}")
    for name in ("model.safetensors", "model.weights.h5"):
        (tmp_path / "a" / name).write_bytes(b"theirs")
        with pytest.raises(UserError, match=f"{name} would be read instead .* tf1 "):
            AlbertModel(tiny_config()).save_pretrained(tmp_path / "a", format="tf1")
    with pytest.raises(UserError, match="format='onnx': expected one of model_direct"):
        AlbertModel(tiny_config()).save_pretrained(tmp_path / "a", format="onnx")


def test_weights_that_are_no_numbers_are_named(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    for form, value in zip(FORMS, (np.nan, np.inf, -np.inf), strict=True):
        model.pooler.bias.assign([0.0] * 11 + [value])
        model.save_pretrained(tmp_path / form, format=form)
        with pytest.raises(UserError, match="NaN or infinity in bert/pooler/dense/bi"):
            AlbertModel.from_pretrained(tmp_path / form)


WEIGHTS = "model.weights.h5"


@pytest.fixture
def saved(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    model.save_pretrained(tmp_path / "model")
    return model


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextlib.contextmanager
def largest_file(size):
    """Files of this process end there: as on a full disk, with EFBIG, not ENOSPC."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_named_and_nothing_is_lost(saved, tmp_path):
    before = contents(tmp_path / "model")
    saved.embeddings.word_embeddings.assign(saved.embeddings.word_embeddings + 1)
    for name, form, size, file in (
        ("model", "model_directory", 9000, WEIGHTS),
        ("other", "model_directory", 9000, WEIGHTS),
        ("tf1", "tf1", 2000, "model.ckpt-best.tmp"),
    ):
        with largest_file(size), pytest.raises(OSError, match="too large") as error:
            saved.save_pretrained(tmp_path / name, format=form)
        assert str(tmp_path / name / file) in str(error.value)
    assert contents(tmp_path / "model") == before
    assert contents(tmp_path / "other") == contents(tmp_path / "tf1") == {}


def test_one_flipped_bit_is_found(saved, tmp_path):
    head = tmp_path / "model" / "head.json"
    whole = head.read_text()
    head.write_text(f"{whole} ")
    with pytest.raises(UserError, match="head.json is damaged: its SHA-256 differs"):
        AlbertModel.from_pretrained(tmp_path / "model")
    head.write_text(whole)
    path = tmp_path / "model" / WEIGHTS
    data = bytearray(path.read_bytes())
    data[data.index(np.array(saved.pooler.kernel).tobytes()) + 7] ^= 1
    path.write_bytes(data)
    for read in (AlbertModel, AlbertForPreTraining):
        with pytest.raises(UserError, match=r"model\.weights\.h5 is damaged: its SHA"):
            read.from_pretrained(tmp_path / "model")
    unchecked = AlbertModel.from_pretrained(tmp_path / "model", verify_checksum=False)
    assert np.sum(unchecked.pooler.kernel != saved.pooler.kernel) == 1


def damaged(data):
    """Files that are none: cut, changed here and there, and something else."""
    rng = np.random.default_rng(0)
    yield from (b"", b"no", data[: len(data) // 2], data[:-1], b"\0" * len(data))
    for _ in range(6):
        changed = bytearray(data)
        for place in rng.integers(0, 3000, 3):
            changed[place] = rng.integers(256)
        yield bytes(changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name"),
    [("model_directory", WEIGHTS), ("huggingface", "model.safetensors")],
)
def test_damaged_weights_without_a_checksum(form, name, saved, tmp_path):
    saved.save_pretrained(tmp_path / "own", format=form)
    path = tmp_path / "own" / name
    path.with_name("SHA256SUMS").unlink()
    for data in damaged(path.read_bytes()):
        path.write_bytes(data)
        try:
            AlbertModel.from_pretrained(path.parent)
        except UserError as error:
            assert name in str(error)
            assert str(path.parent) in str(error)


def test_safetensors_of_other_numbers(saved, tmp_path):
    saved.save_pretrained(tmp_path / "own", format="huggingface")
    path = tmp_path / "own" / "model.safetensors"
    path.with_name("SHA256SUMS").unlink()
    entry = {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}
    for changes in (
        {},
        {"dtype": "F128"},
        {"dtype": "I32", "shape": [1]},
        {"shape": [2**62, 4]},
        {"dtype": "I64", "shape": [], "data_offsets": 3},
    ):
        header = json.dumps({"pooler.weight": entry | changes}).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
        with pytest.raises(UserError, match=r"model\.safetensors"):
            AlbertModel.from_pretrained(path.parent)
