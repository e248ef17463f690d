"""Words of other scripts than English are whole, in every kind of records."""

import functools

import numpy as np
import pytest

from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

WORDS = "старый новый лесник विद्यार्थी पुस्तकालय स्वतंत्रता"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A text in two scripts; its vocabulary is beside it."""
    folder = tmp_path_factory.mktemp("words")
    rng, words = np.random.default_rng(0), WORDS.split()
    lines = (" ".join(rng.choice(words, 6)) + "\n" for _ in range(60))
    (folder / "text.txt").write_text("\n".join(lines), "utf-8")
    named = {"input_file": str(folder / "text.txt"), "output_prefix": str(folder / "v")}
    every = {"model_type": "char", "character_coverage": 1.0, "do_lower_case": False}
    train_tokenizer(TokenizerOptions(**named, **every, vocab_size=41, like="official"))
    return folder / "text.txt"


@pytest.fixture
def make(text, create):
    """Makes records of the text."""
    files = {"input_file": str(text), "spm_model_file": str(text.with_name("v.model"))}
    return functools.partial(create, **files, do_lower_case=False, max_seq_length=64)


def first_of_words(tokenizer, ids):
    special = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id
    return [i in special or tokenizer.pieces[i].startswith("▁") for i in ids]


@pytest.mark.slow
def test_masked_words_are_whole(make):
    data, words = make(), []
    for example in data.records:
        ids = example["input_ids"].copy()
        chosen = np.zeros(len(ids), bool)
        real = example["masked_lm_weights"] == 1
        places = example["masked_lm_positions"][real]
        ids[places], chosen[places] = example["masked_lm_ids"][real], True
        ids = ids[: int(example["input_mask"].sum())]
        starts = np.array(first_of_words(data.tokenizer, ids))
        # The beginning of a word may be cut off behind a special token.
        starts[1:] |= np.isin(ids[:-1], [data.tokenizer.cls_id, data.tokenizer.sep_id])
        parts = np.split(chosen[: len(ids)], np.flatnonzero(starts))
        words += [part for part in parts if len(part) > 1]
    assert sum(map(any, words)) > 50
    assert all(word.all() for word in words if word.any())


@pytest.mark.parametrize("rule", ["words", "pieces"])
def test_bits_of_dynamic_records(make, rule):
    """The official rule, that each piece is a word, on request."""
    data = make(masking="dynamic", word_boundaries=rule)
    for example in data.records:
        ids = example["input_ids"]
        bits = np.unpackbits(np.frombuffer(example["word_starts"][0], np.uint8))
        expected = first_of_words(data.tokenizer, ids)
        assert not all(expected)
        found = bits[: len(ids)].astype(bool).tolist()
        assert found == (expected if rule == "words" else [True] * len(ids))
    assert data.info["word_boundaries"] == rule


def test_bits_of_streams_read_both_ways(make):
    data = make(objective="permutation_lm", bi_data=True)
    assert {int(example["reversed_rows"][0]) for example in data.records} == {0, 1}
    for example in data.records:
        expected = first_of_words(data.tokenizer, example["input_ids"])
        assert example["token_boundary"].astype(bool).tolist() == expected
