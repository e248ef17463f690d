"""`tokenizer(texts)` gives features, and `decode` texts, in one process or several."""

import contextlib
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


def like_a_list(**attributes):
    """A list of a text with attributes, as tables and their columns have them."""
    return type("Like", (list,), attributes)(["sat"])


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
    for wrong, message in (
        ({"the": 1}, "texts must be a list, got a dict; pass one of its columns"),
        ({"the", "cat"}, "texts must be a list, got a set, which has no order"),
        (frozenset(["the"]), "texts must be a list, got a frozenset, which has no"),
        (like_a_list(ndim=2, columns=()), "texts must be a list, got a Like; pass one"),
        (["the", 1], r"texts\[1\] must be a str, got int\.$"),
        (b"the", "texts must be a str or a list of str, got bytes"),
    ):
        with pytest.raises(UserError, match=message):
            tokenizer.encode_batch(wrong)
    for column in (like_a_list(ndim=1, columns=()), like_a_list(ndim=2)):
        assert tokenizer.encode_batch(column) == ids[1:]
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
    # Without a row there is room for an empty text.
    assert {values.shape for values in tokenizer([]).values()} == {(0, 2)}


def test_texts_that_just_fit(tokenizer):
    for texts, length, truncation, expected in (
        (("the cat",), 3, True, [CLS, THE, SEP]),
        (("the cat",), 4, False, [CLS, THE, CAT, SEP]),
        (("the", "cat sat"), 6, "only_first", [CLS, THE, SEP, CAT, SAT, SEP]),
        (("the cat sat", ""), 6, "only_second", [CLS, THE, CAT, SAT, SEP, SEP]),
        (("the cat sat", "on"), 5, True, [CLS, THE, SEP, ON, SEP]),
        (("the cat", "on sat"), 6, True, [CLS, THE, CAT, SEP, ON, SEP]),
    ):
        found = tokenizer(*texts, max_length=length, truncation=truncation)
        assert found["input_ids"].tolist() == [expected]


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
        (("a", None, 8, 1), "padding=1: expected 'longest' or True or 'max_length' or"),
        (("a", None, 8, "long"), "padding='long': expected 'longest' or True"),
        (("a", None, 8, True, "no"), "truncation='no': expected True or False or 'do_"),
        ((["the", "the the cat"] * 2, None, 4, True, False), r"texts\[1\] has 5 to"),
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
    size = either.vocab_size
    for bad, message in (
        ([3, -1], "The id -1 is not in the vocabulary"),
        ([3, 2**40], f"The id {2**40} is not in the vocabulary"),
        (
            [size, size - 1],
            f"The id {size} is not in the vocabulary, whose {size} pieces have the ids "
            f"0 to {size - 1}.",
        ),
        ([1.0], "ids must be an int or a list of int"),
        ([True], "ids must be an int or a list of int"),
    ):
        for method in (either.decode, either.convert_ids_to_tokens):
            with pytest.raises(UserError, match=message):
                method(bad)
    with pytest.raises(UserError, match="ids must be an int or a list of int"):
        either.convert_ids_to_tokens([[3]])
    assert not hasattr(either, "mask")


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


@pytest.mark.parametrize(
    ("lengths", "shares"),
    [
        ([19], []),
        ([90], []),  # a text has one process
        ([10, 9], []),
        ([9, 11], [1, 1]),
        ([7, 0, 20, 45, 3], [2, 1, 2]),
        ([40, 1, 1, 1], [0, 0, 4]),
    ],
)
def test_shares_of_processes(lengths, shares, several, small, monkeypatch):
    """One has ten characters or more, and the texts that end in its share."""
    monkeypatch.setattr(parallel, "CHARACTERS_OF_A_WORKER", 10)
    started = []

    @contextlib.contextmanager
    def calls(function, parts, workers):
        assert workers == len(parts)
        started.extend(len(texts) for _, texts in parts)
        found = (function(*part) for part in parts)
        yield [types.SimpleNamespace(result=lambda f=f: f) for f in found]

    monkeypatch.setattr(parallel, "calls_in_processes", calls)
    texts = ["a" * length for length in lengths]
    found, expected = several(small, texts), small.encode_flat(texts)
    assert started == shares
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]


@pytest.mark.slow
def test_several_processes_equal_one(several, small):
    for texts in (_TEXTS, _TEXTS[:1], []):
        one = small.encode_flat(texts)
        for ours, expected in zip(several(small, texts), one, strict=True):
            np.testing.assert_array_equal(ours, expected)
