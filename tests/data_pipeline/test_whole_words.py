"""Words of other scripts than English are whole, in every kind of records."""

import json

import numpy as np
import pytest

from data_pipeline.create_pretraining_data import create_pretraining_data
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
    train_tokenizer(
        TokenizerOptions(
            input_file=str(folder / "text.txt"),
            output_prefix=str(folder / "v"),
            vocab_size=41,
            model_type="char",
            character_coverage=1.0,
            do_lower_case=False,
            like="official",
        )
    )
    return folder / "text.txt"


@pytest.fixture
def make(text, make_options, out, examples):
    """Makes records of the text; returns the tokenizer, the records and their facts."""

    def run(**changes):
        options = make_options(
            input_file=str(text),
            spm_model_file=str(text.with_name("v.model")),
            do_lower_case=False,
            max_seq_length=64,
            **changes,
        )
        create_pretraining_data(options)
        info = json.loads((out / "dataset_info.json").read_text())
        return options.tokenizer, list(examples(out / "x.tfrecord")), info

    return run


def first_of_words(tokenizer, ids):
    special = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id
    return [i in special or tokenizer.pieces[i].startswith("▁") for i in ids]


@pytest.mark.slow
def test_masked_words_are_whole(make):
    tokenizer, found, _ = make()
    words = []
    for example in found:
        ids = example["input_ids"].copy()
        chosen = np.zeros(len(ids), bool)
        real = example["masked_lm_weights"] == 1
        places = example["masked_lm_positions"][real]
        ids[places], chosen[places] = example["masked_lm_ids"][real], True
        length = int(example["input_mask"].sum())
        starts = np.array(first_of_words(tokenizer, ids[:length]))
        # The beginning of a word may be cut off behind a special token.
        starts[1:] |= np.isin(ids[: length - 1], [tokenizer.cls_id, tokenizer.sep_id])
        starts = np.flatnonzero(starts)
        words += [part for part in np.split(chosen[:length], starts) if len(part) > 1]
    assert sum(map(any, words)) > 50
    assert all(word.all() for word in words if word.any())


def test_official_rule_on_request(make):
    tokenizer, found, info = make(masking="dynamic", word_boundaries="pieces")
    bits = np.unpackbits(np.frombuffer(found[0]["word_starts"][0], np.uint8))
    ids = found[0]["input_ids"]
    assert bits[: len(ids)].all()
    assert not all(first_of_words(tokenizer, ids))
    assert info["word_boundaries"] == "pieces"


def test_bits_of_dynamic_records(make):
    tokenizer, found, info = make(masking="dynamic")
    for example in found:
        ids = example["input_ids"]
        bits = np.unpackbits(np.frombuffer(example["word_starts"][0], np.uint8))
        assert bits[: len(ids)].astype(bool).tolist() == first_of_words(tokenizer, ids)
    assert info["word_boundaries"] == "words"


def test_bits_of_streams_read_both_ways(make):
    tokenizer, found, _ = make(objective="permutation_lm", bi_data=True)
    assert {int(example["reversed_rows"][0]) for example in found} == {0, 1}
    for example in found:
        expected = first_of_words(tokenizer, example["input_ids"])
        assert example["token_boundary"].astype(bool).tolist() == expected
