"""Offers where a name is wrong by a letter or two."""

import os

import pytest

from albert_tf.io.near_misses import close_name
from albert_tf.io.near_misses import did_you_mean


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("k99/model", "runs/base/model"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "k99" / "notes.txt").touch()
    (tmp_path / ".k98").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("k9/model", "k99/model"),
        ("k99/modle", "k99/model"),
        ("k9/modle/", "k99/model"),
        ("runs/bases/mdel", "runs/base/model"),
        ("./k99/note.txt", "k99/notes.txt"),
        ("../x/k99/modle", None),
        ("k98", "k99"),
        ("elsewhere", None),
        ("k99/notes.txt/model", None),
        ("k99/model", None),
        ("gs://bucket/modle", None),
        ("", None),
    ],
)
def test_relative_paths(folder, path, meant):
    assert did_you_mean(path) == (f"; did you mean {meant}?" if meant else "")


def test_absolute_paths(folder):
    wrong, right = (os.path.join(folder, "k99", name) for name in ("modle", "model"))
    assert did_you_mean(wrong) == f"; did you mean {right}?"


def test_names():
    assert close_name("batchsize", ["batch_size", "max_seq_length"]) == "batch_size"
    assert close_name("colour", ["batch_size", "max_seq_length"]) is None
