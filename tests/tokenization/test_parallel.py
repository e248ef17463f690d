"""Tokenizing in worker processes gives what one process gives."""

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import parallel
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer

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

    def ask(tokenizer, texts):
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
