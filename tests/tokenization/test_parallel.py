"""Tokenizing in worker processes gives the same as in one."""

import os
import pickle
import signal

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import parallel
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer

_SECONDS = 120
_TEXTS = ["the cat", "", "sat in 2000, or 1999", "caf\u00e9 " * 9, "dog"]


@pytest.fixture
def tokenizer(train_model):
    return SentencePieceTokenizer(train_model())


@pytest.mark.parametrize("texts", [_TEXTS, _TEXTS[:1], []])
def test_equals_one_process(tokenizer, texts, monkeypatch):
    monkeypatch.setattr(parallel, "CHARACTERS_OF_A_WORKER", 1)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1, 2})
    found = parallel.encode_flat_in_parallel(tokenizer, texts)
    for ours, expected in zip(found, tokenizer.encode_flat(texts), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_processes_are_started_for_much_text_only(tokenizer, monkeypatch):
    asked = []

    def ask(tokenizer, process, texts):
        asked.append(len(texts))
        return tokenizer.encode_flat(texts)

    monkeypatch.setattr(parallel, "_ask_worker", ask)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1})
    parallel.encode_flat_in_parallel(tokenizer, _TEXTS)
    assert asked == []
    monkeypatch.setattr(parallel, "CHARACTERS_OF_A_WORKER", 10)
    parallel.encode_flat_in_parallel(tokenizer, _TEXTS)
    assert len(asked) == 2
    assert sum(asked) == len(_TEXTS)


def test_a_platform_that_does_not_name_the_cores(tokenizer, monkeypatch):
    monkeypatch.delattr(parallel.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: None)
    assert parallel.available_cores() == 1
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 3)
    assert parallel.available_cores() == 3
    ids, lengths = parallel.encode_flat_in_parallel(tokenizer, _TEXTS)
    assert len(lengths) == len(_TEXTS) and sum(lengths) == len(ids)


def test_a_dead_worker_is_an_error(tokenizer, monkeypatch):
    monkeypatch.setattr(parallel, "CHARACTERS_OF_A_WORKER", 1)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(parallel.sys, "executable", "false")
    with pytest.raises(UserError, match="tokenizing process ended with status 1"):
        parallel.encode_flat_in_parallel(tokenizer, _TEXTS)


def test_workers_leave_ctrl_c_to_their_parent(tokenizer):
    with parallel._worker_processes(2) as processes:
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            ids, lengths = parallel._ask_worker(tokenizer, process, ["the cat"])
            assert len(ids) == sum(lengths) > 0


def test_an_exception_ends_the_workers():
    with pytest.raises(KeyboardInterrupt), parallel._worker_processes(2) as processes:
        raise KeyboardInterrupt
    assert [process.returncode for process in processes] == [-signal.SIGKILL] * 2


@pytest.mark.parametrize("written", [0, 9])
def test_a_worker_ends_with_its_parent(tokenizer, written, capfd):
    """The pipe of a parent that dies is closed, perhaps in the midst of a text."""
    lifeline, end_of_lifeline = os.pipe()
    with parallel._start_worker(lifeline) as process:
        process.stdin.write(pickle.dumps((tokenizer, _TEXTS))[:written])
        process.stdin.flush()
        os.close(end_of_lifeline)
        assert process.wait(_SECONDS) == 1
    os.close(lifeline)
    assert capfd.readouterr().err == ""


def test_a_text_cut_short_prints_no_traceback(tokenizer, capfd):
    lifeline, end_of_lifeline = os.pipe()
    with parallel._start_worker(lifeline) as process:
        process.communicate(pickle.dumps((tokenizer, _TEXTS))[:-9])
        assert process.returncode == 1
    os.close(lifeline)
    os.close(end_of_lifeline)
    assert capfd.readouterr().err == ""
