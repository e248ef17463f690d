"""Importing TensorFlow says nothing, and does not look for garbage."""

import gc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from unittest import mock

import pytest

from albert_tf.io import tensorflow_import
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


def test_only_noise_is_held_back(capfd):
    with without_noise():
        os.write(2, (_NOISE + _KEPT).encode())
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == _KEPT
    with pytest.raises(ImportError), without_noise():
        os.write(2, b"why\n")
        raise ImportError
    os.write(2, _NOISE.encode())
    assert capfd.readouterr().err == f"why\n{_NOISE}"


def test_a_package_that_is_missing_and_no_standard_error(monkeypatch):
    missing = mock.Mock(return_value=None)
    monkeypatch.setattr(importlib.util, "find_spec", missing)
    finder = tensorflow_import._Finder(True)
    monkeypatch.setattr(sys, "meta_path", [finder])
    assert finder.find_spec("other") is None
    assert finder.find_spec("tensorflow") is None
    missing.assert_called_once_with("tensorflow")
    assert sys.meta_path == []
    folder = importlib.machinery.ModuleSpec("tensorflow", None)  # without a package
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: folder)
    monkeypatch.setattr(sys, "meta_path", [finder])
    assert finder.find_spec("tensorflow") is folder
    monkeypatch.setattr(os, "dup", mock.Mock(side_effect=OSError))
    with without_noise():
        assert sys.stderr


_PRINTS = """
from albert_tf.io import tensorflow_import
tensorflow_import.install()
import gc, os, tensorflow
print(os.environ["TF_CPP_MIN_LOG_LEVEL"], gc.get_freeze_count() > 100_000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", ["1", "0"])  # TensorFlow sets 1 for what it starts
def test_importing_tensorflow_says_what_the_users_level_lets_it_say(level):
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": level}
    command = [sys.executable, "-c", _PRINTS]
    done = subprocess.run(command, capture_output=True, check=True, env=variables)
    assert done.stdout == (b"0 True\n" if level == "0" else b"3 True\n")
    assert bool(done.stderr) == (level == "0")


def test_nothing_is_collected_while_importing():
    gc.disable()
    with without_collections():
        pass
    assert not gc.isenabled()
    gc.enable()
    before = gc.get_freeze_count()
    with without_collections():
        assert not gc.isenabled()
        made = [[] for _ in range(100)]
    assert gc.isenabled() and gc.get_freeze_count() >= before + len(made)
    with pytest.raises(ImportError), without_collections():
        raise ImportError
    assert gc.isenabled()
