"""Tokenizing in worker processes gives the same as in one."""

import os
import sys
import types

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import parallel

_TEXTS = ["the cat", "", "sat in 2000, or 1999", "caf\u00e9 " * 9, "dog"]


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch):
    monkeypatch.setattr(parallel, "CHARACTERS_OF_A_WORKER", 1)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1, 2})


class Counting:
    """A tokenizer that gives the process in which each text is encoded."""

    def encode_flat(self, texts):
        return np.full(len(texts), os.getpid()), np.ones(len(texts), np.int32)


@pytest.mark.slow
def test_workers_do_not_import_the_main_program(tmp_path, monkeypatch):
    main, imported = types.ModuleType("__main__"), tmp_path / "imported"
    main.__file__ = str(tmp_path / "run.py")
    (tmp_path / "run.py").write_text(f"open({str(imported)!r}, 'w')")
    monkeypatch.setitem(sys.modules, "__main__", main)
    processes, _ = parallel.encode_flat_in_parallel(Counting(), _TEXTS)
    assert len(processes) == len(_TEXTS)
    assert os.getpid() not in processes
    assert not imported.exists()
    assert sys.modules["__main__"] is main


@pytest.mark.slow
@pytest.mark.parametrize("texts", [_TEXTS, _TEXTS[:1], []])
def test_equals_one_process(small, texts):
    found = parallel.encode_flat_in_parallel(small, texts)
    for ours, expected in zip(found, small.encode_flat(texts), strict=True):
        np.testing.assert_array_equal(ours, expected)


class Dying:
    def encode_flat(self, texts):
        os._exit(1)


@pytest.mark.slow
def test_a_dead_worker_is_an_error():
    with pytest.raises(UserError, match="A worker process was killed"):
        parallel.encode_flat_in_parallel(Dying(), _TEXTS)
