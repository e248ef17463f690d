"""Weights that a disk cannot hold, or has changed, are never used and never silent."""

import contextlib
import json
import resource

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining

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


def flip(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_one_flipped_bit_is_found(saved, tmp_path):
    head = tmp_path / "model" / "head.json"
    whole = head.read_text()
    head.write_text(f"{whole} ")
    with pytest.raises(UserError, match="head.json is damaged: its SHA-256 differs"):
        AlbertModel.from_pretrained(tmp_path / "model")
    head.write_text(whole)
    path = tmp_path / "model" / WEIGHTS
    flip(path, path.read_bytes().index(np.array(saved.pooler.kernel).tobytes()) + 7)
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
