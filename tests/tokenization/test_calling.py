"""`tokenizer(texts)` gives features, and `decode` texts, in one process or several."""

import os
import sys
import types

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import parallel
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on ##s , . 中 文 。 [ mask ]"
PAD, UNK, CLS, SEP, MASK, THE, CAT, SAT, ON, S = range(10)


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(PIECES.replace(" ", "\n").encode())


@pytest.fixture(scope="module", params=["wordpiece", "sentencepiece"])
def either(request, tokenizer, small):
    return tokenizer if request.param == "wordpiece" else small


def lists(features):
    return {name: np.asarray(values).tolist() for name, values in features.items()}


def test_texts_and_iterators_of_them(tokenizer):
    texts = ["The cats", "sat"]
    features = tokenizer(texts)
    assert all(values.dtype == np.int32 for values in features.values())
    assert lists(features) == {
        "input_ids": [[CLS, THE, CAT, S, SEP], [CLS, SAT, SEP, PAD, PAD]],
        "input_mask": [[1] * 5, [1, 1, 1, 0, 0]],
        "segment_ids": [[0] * 5] * 2,
    }
    expected = lists(tokenizer(texts, texts))
    assert lists(tokenizer(iter(texts), (text for text in texts))) == expected
    assert lists(tokenizer(np.array(texts), tuple(texts))) == expected
    ids = [[THE, CAT, S], [SAT]]
    assert tokenizer.encode_batch(iter(texts)) == ids
    assert tokenizer.encode_batch("sat") == ids[1:]
    for wrong in ({"the": 1}, {"the", "cat"}, ["the", 1]):
        with pytest.raises(UserError, match="must be a"):
            tokenizer.encode_batch(wrong)
    with pytest.raises(UserError, match="must be a str, got list; encode_batch takes"):
        tokenizer.encode(texts)


def test_pairs_and_padding(tokenizer):
    features = tokenizer("the cat", "sat", max_length=7, padding="max_length")
    assert lists(features) == {
        "input_ids": [[CLS, THE, CAT, SEP, SAT, SEP, PAD]],
        "input_mask": [[1] * 6 + [0]],
        "segment_ids": [[0] * 4 + [1] * 2 + [0]],
    }
    assert lists(tokenizer("the cat", "sat", padding=True)) == {
        name: [rows[0][:6]] for name, rows in lists(features).items()
    }
    assert tokenizer(["the cat", "sat"], ["on", ""], padding=False) == {
        "input_ids": [[CLS, THE, CAT, SEP, ON, SEP], [CLS, SAT, SEP, SEP]],
        "segment_ids": [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1]],
        "input_mask": [[1] * 6, [1] * 4],
    }
    assert tokenizer("the", max_length=np.int64(90))["input_ids"].shape == (1, 3)


def test_special_tokens_in_text(either):
    text = "the [MASK] sat [SEP]"
    (ids,) = either(text, special_tokens_in_text=True)["input_ids"].tolist()
    expected = [*either.encode("the"), either.mask_id, *either.encode("sat")]
    assert ids == [either.cls_id, *expected, either.sep_id, either.sep_id]
    (ids,) = either(text)["input_ids"].tolist()
    assert ids == [either.cls_id, *either.encode(text), either.sep_id]
    assert either.mask_id not in ids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "texts must be a str or a list of str, got int"),
        ((["the", None],), r"texts\[1\] must be a str, got NoneType"),
        (([("a", "b")],), r"texts\[0\] .* tuple; pass second texts as text_pairs"),
        ((["a", "b"], ["a"]), "texts has 2 texts, but text_pairs has 1"),
        (("a", None, 2), "max_length=2 leaves no room .* expected 3 or more"),
        (("a", "b", 3), "max_length=3 leaves no room .* expected 4 or more"),
        (("a", None, None, "max_length"), "padding='max_length' needs max_length"),
        (("a", None, 8, 1), "padding=1: expected 'longest'"),
        (("the the cat", "sat", 5, True, False), r"texts\[0\] has 7 tokens, .*=5"),
    ],
)
def test_bad_input_is_one_sentence(tokenizer, arguments, message):
    with pytest.raises(UserError, match=message):
        tokenizer(*arguments)


def test_decode(tokenizer):
    ids = tokenizer(["The cats sat, on.", "中文。the"])["input_ids"]
    whole = ["the cats sat, on.", "中文。the"]
    framed = [f"[CLS] {whole[0]} [SEP]", f"[CLS] {whole[1]} [SEP] [PAD] [PAD] [PAD]"]
    assert tokenizer.decode(ids) == framed
    assert tokenizer.decode(ids.tolist(), skip_special_tokens=True) == whole
    assert tokenizer.decode([UNK, MASK, CAT], skip_special_tokens=True) == "[UNK] cat"
    assert tokenizer.decode(CAT) == "cat"
    assert tokenizer.decode([]) == ""
    assert tokenizer.decode([[], [CAT, S]]) == ["", "cats"]


def test_tokens_and_ids(either):
    ids = either.encode("the cat sat")
    tokens = either.convert_ids_to_tokens(ids)
    assert tokens == either.tokenize("the cat sat")
    assert either.convert_ids_to_tokens(np.array(ids)) == tokens
    assert either.convert_tokens_to_ids(tokens) == ids
    assert either.convert_ids_to_tokens(either.mask_id) == "[MASK]"
    assert either.convert_tokens_to_ids("[MASK]") == either.mask_id
    assert either.convert_tokens_to_ids(["no such piece"]) == [either.unk_id]
    assert either.convert_ids_to_tokens([]) == []
    for bad, message in (
        ([3, -1], "The id -1 is not in the vocabulary"),
        ([3, 2**40], f"The id {2**40} is not in the vocabulary"),
        ([1.0], "ids must be an int or a list of int"),
        ([True], "ids must be an int or a list of int"),
    ):
        for method in (either.decode, either.convert_ids_to_tokens):
            with pytest.raises(UserError, match=message):
                method(bad)


_TEXTS = ["the cat", "", "sat in 2000, or 1999", "caf\u00e9 " * 9, "dog"]


@pytest.fixture
def several(monkeypatch):
    """Encodes texts in three worker processes."""
    monkeypatch.setattr(parallel, "CHARACTERS_OF_A_WORKER", 1)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1, 2})
    return parallel.encode_flat_in_parallel


class Counting:
    """A tokenizer that gives the process in which each text is encoded."""

    def encode_flat(self, texts):
        return np.full(len(texts), os.getpid()), np.ones(len(texts), np.int32)


class Dying:
    def encode_flat(self, texts):
        os._exit(1)


@pytest.mark.slow
def test_workers_do_not_import_the_main_program(several, tmp_path, monkeypatch):
    main, imported = types.ModuleType("__main__"), tmp_path / "imported"
    main.__file__ = str(tmp_path / "run.py")
    (tmp_path / "run.py").write_text(f"open({str(imported)!r}, 'w')")
    monkeypatch.setitem(sys.modules, "__main__", main)
    processes, _ = several(Counting(), _TEXTS)
    assert len(processes) == len(_TEXTS)
    assert os.getpid() not in processes
    assert not imported.exists()
    assert sys.modules["__main__"] is main
    with pytest.raises(UserError, match="A worker process was killed"):
        several(Dying(), _TEXTS)


@pytest.mark.slow
def test_several_processes_equal_one(several, small):
    for texts in (_TEXTS, _TEXTS[:1], []):
        one = small.encode_flat(texts)
        for ours, expected in zip(several(small, texts), one, strict=True):
            np.testing.assert_array_equal(ours, expected)
