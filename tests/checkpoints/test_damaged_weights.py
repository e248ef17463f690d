"""Weights that a disk cannot hold, or has changed, are never used and never silent."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.checkpoints import checksum
from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining

WEIGHTS = "model.weights.h5"

# Files of this process may have 9,000 bytes: it goes on as on a full disk, with EFBIG
# in the place of ENOSPC.
_FULL_DISK = """
import resource, sys
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
model = AlbertModel.from_pretrained(sys.argv[1])
model.embeddings.word_embeddings.assign(model.embeddings.word_embeddings + 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
try:
    model.save_pretrained(sys.argv[2])
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


@pytest.mark.parametrize("target", ["model", "other"])
def test_a_full_disk_is_named_and_nothing_is_lost(target, saved, tmp_path):
    before = contents(tmp_path / "model")
    folder = tmp_path / target
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(tmp_path / "model"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{folder / WEIGHTS}: File too large\n"
    # The weights are as they were; they have lost their checksum at most.
    after = contents(folder)
    assert not any(name.endswith((".tmp", ".tmp.weights.h5")) for name in after)
    if target == "model":
        assert after == {n: d for n, d in before.items() if not n.endswith(".sha256")}
        AlbertModel.from_pretrained(folder)


def test_the_checksum_is_that_of_sha256sum(saved, tmp_path):
    data = (tmp_path / "model" / WEIGHTS).read_bytes()
    line = (tmp_path / "model" / f"{WEIGHTS}.sha256").read_text()
    assert line == f"{hashlib.sha256(data).hexdigest()}  {WEIGHTS}\n"


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def place_of(path, variable):
    """Where in a file the number of a variable lies."""
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


def test_directories_without_a_checksum_load(saved, tmp_path):
    (tmp_path / "model" / f"{WEIGHTS}.sha256").unlink()
    AlbertModel.from_pretrained(tmp_path / "model")


@pytest.mark.parametrize("text", [b"", b"\xff\0", b"0" * 64, b"deadbeef\n"])
def test_a_damaged_checksum_is_no_checksum(text, saved, tmp_path):
    (tmp_path / "model" / f"{WEIGHTS}.sha256").write_bytes(text)
    with pytest.raises(UserError, match="its SHA-256 is not that in"):
        AlbertModel.from_pretrained(tmp_path / "model")


def test_a_kill_between_the_two_files_leaves_what_loads(saved, tmp_path, monkeypatch):
    def killed(path, data):
        if path.endswith(".sha256"):
            raise KeyboardInterrupt
        write(path, data)

    write = checksum.write_atomically
    monkeypatch.setattr(checksum, "write_atomically", killed)
    saved.pooler.kernel.assign(saved.pooler.kernel + 1)
    with pytest.raises(KeyboardInterrupt):
        saved.save_pretrained(tmp_path / "model")
    loaded = AlbertModel.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(loaded.pooler.kernel, saved.pooler.kernel)


def test_hugging_face_weights(saved, tmp_path):
    pytest.importorskip("safetensors")
    folder = tmp_path / "hf"
    save_huggingface(saved, folder)
    path = folder / "model.safetensors"
    AlbertModel.from_pretrained(folder)
    flip(path, -5)
    with pytest.raises(UserError, match=r"model\.safetensors is damaged: its SHA"):
        AlbertModel.from_pretrained(folder)
    AlbertModel.from_pretrained(folder, verify_checksum=False)
    (folder / "model.safetensors.sha256").unlink()
    AlbertModel.from_pretrained(folder)


def damaged(data):
    """Files that are none: cut, changed here and there, and something else."""
    rng = np.random.default_rng(0)
    yield from (b"", b"no", data[: len(data) // 2], data[:-1], b"\0" * len(data))
    for _ in range(40):
        changed = bytearray(data)
        for place in rng.integers(0, 3000, 3):
            changed[place] = rng.integers(256)
        yield bytes(changed)


def test_damaged_weights_without_a_checksum(saved, tmp_path):
    path = tmp_path / "model" / WEIGHTS
    path.with_name(f"{WEIGHTS}.sha256").unlink()
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
    pytest.importorskip("safetensors")
    folder = tmp_path / "hf"
    save_huggingface(saved, folder)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    os.remove(f"{path}.sha256")
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
