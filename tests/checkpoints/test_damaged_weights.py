"""Weights that a disk cannot hold, or has changed, are never used and never silent."""

import hashlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.checkpoints import model_directory
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer

WEIGHTS = "model.weights.h5"

# Files of this process may have so many bytes: it goes on as on a full disk, with
# EFBIG in the place of ENOSPC.
_FULL_DISK = """
import json, resource, sys
from albert_tf.models.albert import AlbertModel
model = AlbertModel.from_pretrained(sys.argv[1])
model.embeddings.word_embeddings.assign(model.embeddings.word_embeddings + 1)
for folder, form, size in json.loads(sys.argv[2]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        model.save_pretrained(folder, format=form)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}")
"""


@pytest.fixture
def saved(tiny_config, tmp_path):
    model = AlbertModel(tiny_config())
    model.save_pretrained(tmp_path / "model")
    return model


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_a_full_disk_is_named_and_nothing_is_lost(saved, tmp_path):
    model, other, tf1 = (tmp_path / name for name in ("model", "other", "tf1"))
    before = contents(model)
    saves = [
        (str(model), "model_directory", 9000),
        (str(other), "model_directory", 9000),
        (str(tf1), "tf1", 2000),
    ]
    command = [sys.executable, "-c", _FULL_DISK, str(model), json.dumps(saves)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert first == f"{model / WEIGHTS}: File too large"
    assert second == f"{other / WEIGHTS}: File too large"
    assert f"{tf1}/model.ckpt-best.tmp" in third
    assert third.endswith("File too large")
    assert contents(model) == before
    assert contents(other) == contents(tf1) == {}


def test_the_checksums_are_those_of_sha256sum(saved, tmp_path):
    folder = tmp_path / "model"
    names = ["albert_config.json", "head.json", WEIGHTS]
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
    ]
    assert (folder / "SHA256SUMS").read_text() == "".join(lines)


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def place_of(path, variable):
    """Finds the place of a variable's number in a file."""
    return path.read_bytes().index(np.asarray(variable).tobytes())


def test_one_flipped_bit_is_found(saved, tmp_path):
    path = tmp_path / "model" / WEIGHTS
    flip(path, place_of(path, saved.pooler.kernel) + 7)
    for read in (AlbertModel, AlbertForPreTraining):
        with pytest.raises(UserError, match=r"model\.weights\.h5 is damaged: its SHA"):
            read.from_pretrained(tmp_path / "model")
    unchecked = AlbertModel.from_pretrained(tmp_path / "model", verify_checksum=False)
    assert np.sum(unchecked.pooler.kernel != saved.pooler.kernel) == 1
    encoder = AlbertForPreTraining.from_pretrained(
        tmp_path / "model", allow_missing="cls/", verify_checksum=False
    )
    assert np.sum(encoder.albert.pooler.kernel != saved.pooler.kernel) == 1


@pytest.mark.parametrize("name", ["albert_config.json", "head.json"])
def test_one_changed_letter_is_found(name, saved, tmp_path):
    path = tmp_path / "model" / name
    path.write_text(path.read_text() + " ")
    with pytest.raises(UserError, match=f"{name} is damaged: its SHA-256 differs"):
        AlbertModel.from_pretrained(tmp_path / "model")


def test_a_kill_between_two_files_leaves_the_earlier_model(
    saved, tmp_path, monkeypatch
):
    def killed(folder, name, values):
        raise KeyboardInterrupt

    before = np.array(saved.pooler.kernel)
    saved.pooler.kernel.assign(saved.pooler.kernel + 1)
    folder = model_directory.ChecksummedFolder
    monkeypatch.setattr(folder, "write_json", killed)
    monkeypatch.setattr(folder, "__exit__", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        saved.save_pretrained(tmp_path / "model")
    loaded = AlbertModel.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.pooler.kernel, before)


def test_hugging_face_weights(saved, tmp_path):
    folder = tmp_path / "hf"
    save_huggingface(saved, folder)
    path = folder / "model.safetensors"
    AlbertModel.from_pretrained(folder)
    flip(path, -5)
    with pytest.raises(UserError, match=r"model\.safetensors is damaged: its SHA"):
        AlbertModel.from_pretrained(folder)
    AlbertModel.from_pretrained(folder, verify_checksum=False)
    (folder / "SHA256SUMS").unlink()
    AlbertModel.from_pretrained(folder)


def damaged(data):
    """Files that are none: cut, changed here and there, and something else."""
    rng = np.random.default_rng(0)
    yield from (b"", b"no", data[: len(data) // 2], data[:-1], b"\0" * len(data))
    for _ in range(12):
        changed = bytearray(data)
        for place in rng.integers(0, 3000, 3):
            changed[place] = rng.integers(256)
        yield bytes(changed)


@pytest.mark.slow
def test_damaged_weights_without_a_checksum(saved, tmp_path):
    path = tmp_path / "model" / WEIGHTS
    path.with_name("SHA256SUMS").unlink()
    for data in damaged(path.read_bytes()):
        path.write_bytes(data)
        try:
            AlbertModel.from_pretrained(tmp_path / "model")
        except UserError as error:
            assert f"{WEIGHTS} is damaged" in str(error)


def header(entries, data=b""):
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_damaged_safetensors(saved, tmp_path):
    folder = tmp_path / "hf"
    save_huggingface(saved, folder)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    (folder / "SHA256SUMS").unlink()
    for data in damaged(whole):
        path.write_bytes(data)
        try:
            AlbertModel.from_pretrained(folder)
        except UserError as error:
            assert str(path) in str(error)
    entry = {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}
    for entries in (
        {"pooler.weight": entry},
        {"pooler.weight": {**entry, "dtype": "F128"}},
        {"pooler.weight": {**entry, "dtype": "I32", "shape": [1]}},
        {"pooler.weight": {**entry, "shape": [2**62, 4]}},
        {"pooler.weight": {**entry, "dtype": "I64", "shape": [], "data_offsets": 3}},
        {},
    ):
        path.write_bytes(header(entries, b"\0" * 4))
        with pytest.raises(UserError, match=r"model\.safetensors"):
            AlbertModel.from_pretrained(folder)


@pytest.mark.parametrize("form", ["tf1", "huggingface"])
def test_a_folder_that_vanishes_during_a_conversion_is_named(
    form, tiny_config, vocabulary, tmp_path, monkeypatch
):
    (tmp_path / "vocab.txt").write_text(vocabulary(["a"]))
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    place = tmp_path / "converted"
    save = bundle.save_for_others

    def vanish_and_save(*arguments):
        shutil.rmtree(place)
        save(*arguments)

    monkeypatch.setattr(bundle, "save_for_others", vanish_and_save)
    model = AlbertModel(tiny_config())
    with pytest.raises(FileNotFoundError, match="it was removed while") as error:
        model.save_pretrained(place, tokenizer, format=form)
    assert error.value.filename.startswith(str(place))
