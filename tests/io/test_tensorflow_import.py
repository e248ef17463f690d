"""Importing TensorFlow says nothing, and does not look for garbage."""

import gc
import os
import re
import subprocess
import sys

import pytest

from albert_tf.io.tensorflow_import import without_collections
from albert_tf.io.tensorflow_import import without_noise

_NOISE = (
    "WARNING: All log messages before absl::InitializeLog() is called are written\n"
    "I0000 00:00:1795361173.587296   27470 port.cc:153] oneDNN custom operations\n"
    "E0000 00:00:1795361173.587296   27470 cuda_dnn.cc:8310] Unable to register\n"
    "2026-11-22 15:06:08.123456: I tensorflow/core/util/port.cc:153] oneDNN\n"
)
_KEPT = (
    "F0000 00:00:1795361173.587296   27470 port.cc:1] The CPU lacks AVX\n"
    "ImportError: libcudart.so.12: cannot open shared object file\n"
    "12:00:00 Training starts\n"
)
_OWN = re.compile(r"\d\d:\d\d:\d\d ")
_PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "cat",
    "sat",
    "dog",
    "ran",
    ".",
]


def _run(*command, **environment):
    kept = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=True,
        env={**kept, **environment},
    )


def test_only_noise_is_held_back(capfd):
    with without_noise():
        os.write(2, (_NOISE + _KEPT).encode())
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == _KEPT
    os.write(2, _NOISE.encode())
    assert capfd.readouterr().err == _NOISE


def test_an_error_passes_through_and_standard_error_is_back(capfd):
    with pytest.raises(ImportError), without_noise():
        os.write(2, b"why\n")
        raise ImportError
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "why\nafter\n"


_INSTALL = "from albert_tf.io import tensorflow_import\ntensorflow_import.install()\n"


@pytest.mark.slow
def test_importing_tensorflow_says_nothing():
    code = "import tensorflow as tf; print(int(tf.constant(2) + 3))"
    done = _run("-c", _INSTALL + code)
    assert (done.stdout, done.stderr) == ("5\n", "")


@pytest.mark.parametrize(
    ("level", "kept", "noisy"), [("0", "0", True), ("1", "3", False)]
)
def test_the_users_level_stays(level, kept, noisy):
    code = (
        f"{_INSTALL}import gc, os, tensorflow\n"
        "print(os.environ['TF_CPP_MIN_LOG_LEVEL'], gc.get_freeze_count() > 100_000)"
    )
    done = _run("-c", code, TF_CPP_MIN_LOG_LEVEL=level)
    assert (done.stdout, bool(done.stderr)) == (f"{kept} True\n", noisy)


def test_nothing_is_collected_while_importing():
    gc.enable()
    before = gc.get_freeze_count()
    with without_collections():
        assert not gc.isenabled()
        made = [[] for _ in range(100)]
    assert gc.isenabled() and gc.get_freeze_count() >= before + len(made)
    with pytest.raises(ImportError), without_collections():
        raise ImportError
    assert gc.isenabled()


def test_who_collects_nothing_himself_goes_on_so():
    gc.disable()
    try:
        with without_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.slow
def test_workers_say_nothing(tmp_path):
    (tmp_path / "text.txt").write_text("The cat sat.\nThe dog ran.\n\n" * 40)
    (tmp_path / "vocab.txt").write_text("\n".join(_PIECES))
    flags = {
        "input_file": tmp_path / "text.txt",
        "vocab_file": tmp_path / "vocab.txt",
        "output_file": tmp_path / "out" / "x.tfrecord",
        "max_seq_length": 16,
        "dupe_factor": 1,
        "num_shards": 2,
        "workers": 2,
    }
    done = _run(
        "-m",
        "data_pipeline.create_pretraining_data",
        *(f"--{name}={value}" for name, value in flags.items()),
    )
    foreign = [line for line in done.stderr.splitlines() if not _OWN.match(line)]
    assert done.stdout == ""
    assert done.stderr and not foreign
