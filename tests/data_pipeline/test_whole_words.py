"""Words of other scripts than English are whole, in every kind of records."""

import json

import numpy as np
import pytest

from albert_tf.tokenization import load_tokenizer
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

WORDS = {
    "russian": "старый новый лесник плотник учитель построил деревянный колодец",
    "hindi": "किताब विद्यार्थी अध्यापक नमस्ते पुस्तकालय स्वतंत्रता विश्वविद्यालय",
}

SIZES = {"russian": 33, "hindi": 36}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    """The text and the model of a language: vocabulary(name)."""

    def make(name):
        folder = tmp_path_factory.getbasetemp() / f"words_{name}"
        text, prefix = folder / "text.txt", folder / "v"
        if not folder.exists():
            folder.mkdir()
            rng, words = np.random.default_rng(0), WORDS[name].split()
            lines = (" ".join(rng.choice(words, 6)) + "\n" for _ in range(60))
            text.write_text("\n".join(lines), "utf-8")
            train_tokenizer(
                TokenizerOptions(
                    input_file=str(text),
                    output_prefix=str(prefix),
                    vocab_size=SIZES[name],
                    model_type="char",
                    character_coverage=1.0,
                    do_lower_case=False,
                )
            )
        return text, f"{prefix}.model"

    return make


@pytest.fixture
def make(vocabulary, make_options, out, examples):
    """Makes records of a language; returns the tokenizer and the records."""

    def run(name, **changes):
        text, model = vocabulary(name)
        options = make_options(
            input_file=str(text),
            spm_model_file=model,
            do_lower_case=False,
            max_seq_length=64,
            **changes,
        )
        create_pretraining_data(options)
        return load_tokenizer(model, False), list(examples(out / "x.tfrecord"))

    return run


def first_of_words(tokenizer, ids):
    special = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id
    return [i in special or tokenizer.pieces[i].startswith("▁") for i in ids]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORDS)
def test_masked_words_are_whole(make, name):
    tokenizer, found = make(name)
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


def test_official_rule_on_request(make, out):
    tokenizer, found = make("russian", masking="dynamic", word_boundaries="pieces")
    bits = np.unpackbits(np.frombuffer(found[0]["word_starts"][0], np.uint8))
    ids = found[0]["input_ids"]
    assert bits[: len(ids)].all()
    assert not all(first_of_words(tokenizer, ids))
    info = json.loads((out / "dataset_info.json").read_text())
    assert info["word_boundaries"] == "pieces"


def test_bits_of_dynamic_records(make, out):
    tokenizer, found = make("hindi", masking="dynamic")
    for example in found:
        ids = example["input_ids"]
        bits = np.unpackbits(np.frombuffer(example["word_starts"][0], np.uint8))
        assert bits[: len(ids)].astype(bool).tolist() == first_of_words(tokenizer, ids)
    info = json.loads((out / "dataset_info.json").read_text())
    assert info["word_boundaries"] == "words"


def test_bits_of_streams_read_both_ways(make):
    tokenizer, found = make("russian", objective="permutation_lm", bi_data=True)
    assert {int(example["reversed_rows"][0]) for example in found} == {0, 1}
    for example in found:
        expected = first_of_words(tokenizer, example["input_ids"])
        assert example["token_boundary"].astype(bool).tolist() == expected
