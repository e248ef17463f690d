"""Models whose vocabulary gets new pieces."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
import transformers

import albert_tf
from albert_tf import bundle
from albert_tf.errors import UserError
from albert_tf.families.vocabulary_growth import with_new_pieces
from albert_tf.serving.predictor import Predictor
from albert_tf.tokenization.word_starts import MARK
from data_pipeline.extend_model import extend_model
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer

_NEW = "quokka quokkas wombats jumped, żółw żółwie 1974 quokka\n" * 40
_OLD = ["the film was very good.", "a cat, the dog", "is it the one"]
_TRAINING = {"character_coverage": 1.0, "num_threads": 1}


def _nightly(*families):
    return [pytest.param(family, marks=pytest.mark.nightly) for family in families]


@pytest.fixture
def extend(saved_model, tmp_path):
    """Extends `saved_model(kind, family)`; returns the old and the new `Bundle`."""
    (tmp_path / "new.txt").write_text(_NEW, "utf-8")

    def run(family, kind="pretraining"):
        source, target = saved_model(kind, family), tmp_path / "new"
        options = TokenizerOptions(
            input_file=str(tmp_path / "new.txt"),
            num_threads=1,
            extend=str(source),
            output_prefix=str(target),
            pieces=40,
        )
        train_tokenizer(options)
        return bundle.open(source), bundle.open(target)

    return run


def check_old_answers(old, new):
    """Text without new pieces keeps its rows and numbers."""
    before, after = old.tokenizer(), new.tokenizer()
    size = before.vocab_size
    assert after.pieces[:size] == before.pieces
    assert 10 < after.vocab_size - size <= 40
    assert new.config.vocab_size == after.vocab_size
    assert after.layout == before.layout
    rows = before(_OLD)
    np.testing.assert_array_equal(after(_OLD)["input_ids"], rows["input_ids"])
    rows["masked_lm_positions"] = np.array([[1, 2]] * len(_OLD))
    expected, found = old.model()(rows), new.model()(rows)
    logits = found.pop("masked_lm_logits")[..., :size]
    np.testing.assert_array_equal(logits, expected.pop("masked_lm_logits"))
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def check_new_vectors(old, new):
    """A new piece's are the means of those that stood in its place."""
    before, after = old.tokenizer(), new.tokenizer()
    word = " quokka" if before.kind == "byte_bpe" else "quokka"
    (index,), replaced = after.encode(word), before.encode(word)
    assert index >= before.vocab_size
    assert after.pieces[index].strip(f"{MARK}Ġ") == "quokka"
    grown = [n for n, t in new.tensors.items() if t.shape != old.tensors[n].shape]
    assert len(grown) == 2
    for name in grown:
        table, was = new.tensors[name], old.tensors[name]
        np.testing.assert_array_equal(table[: len(was)], was)
        mean = was[replaced].mean(axis=0)
        np.testing.assert_allclose(table[index], mean, rtol=0, atol=1e-6)


def check_other_libraries(new, folder):
    """They read the new pieces, and so do we what is written for them."""
    tokenizer, model = new.tokenizer(), new.model(albert_tf.AlbertForMaskedLM)
    model.save_pretrained(folder, tokenizer, format="huggingface")
    texts = [*_OLD, *_NEW.splitlines()[:1], "xquokkasy ŻÓŁW, 2 wombat"]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(texts, padding=False)["input_ids"]
    assert theirs(texts)["input_ids"] == ids
    again = bundle.open(folder)
    assert again.tokenizer()(texts, padding=False)["input_ids"] == ids
    entries = json.loads((folder / "config.json").read_text())
    assert entries["vocab_size"] == tokenizer.vocab_size
    features = tokenizer(texts)
    found = again.model(albert_tf.AlbertForMaskedLM)(features)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(model(features)))


@pytest.mark.parametrize(
    "family",
    [
        *("albert", "modernbert", "xlm-roberta"),
        *_nightly("bert", "deberta-v2", "distilbert", "electra", "roberta"),
    ],
)
def test_an_extended_model(family, extend, tmp_path):
    old, new = extend(family)
    check_old_answers(old, new)
    check_new_vectors(old, new)
    check_other_libraries(new, tmp_path / "theirs")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["albert", *_nightly("modernbert", "xlm-roberta")])
def test_an_extended_model_is_served(family, extend):
    _, new = extend(family, "classification")
    texts = [*_OLD, *_NEW.splitlines()[:1], "the quokka"]
    found = Predictor(new.path).arrays(texts)["probabilities"]
    logits = new.model()(new.tokenizer()(texts))
    expected = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert new.info["task"]["kind"] == "single_label"


def test_rows_without_pieces_are_taken_first():
    table = np.arange(12, dtype=np.float32).reshape(6, 2)
    tensors = {"bert/embeddings/word_embeddings": table, "other": table}
    grown = with_new_pieces(tensors, 3, [[0, 1], [2]])
    expected = [[0, 1], [2, 3], [4, 5], [1, 2], [4, 5], [10, 11]]
    assert grown["bert/embeddings/word_embeddings"].tolist() == expected
    assert grown["other"] is table


def test_a_model_with_room_keeps_its_size(saved_model, tmp_path):
    old = bundle.open(saved_model("encoder", "albert"))
    roomy = albert_tf.AlbertModel(dataclasses.replace(old.config, vocab_size=500))
    roomy.save_pretrained(tmp_path / "roomy", old.tokenizer())
    source, target = str(tmp_path / "roomy"), tmp_path / "new"
    lines = ["quokka"] * 7 + ["quokka quokka"]
    report = extend_model(source, lambda: lines, 9, target, **_TRAINING)
    new = bundle.open(target)
    assert new.config.vocab_size == 500
    size, before = new.tokenizer().vocab_size, old.tokenizer()
    assert report == {
        **{"pieces": size, "new_pieces": size - before.vocab_size, "lines": 8},
        "pieces_per_word": [len(before.encode("quokka")), 1.0],
    }


def test_same_text_same_model(saved_model, tmp_path):
    """Its pooler, too, which files of a language model lack."""
    old = bundle.open(saved_model("pretraining", "albert"))
    model = old.model(albert_tf.AlbertForMaskedLM)
    model.save_pretrained(tmp_path / "old", old.tokenizer(), format="huggingface")
    for name in "ab":
        read, target = _NEW.splitlines, tmp_path / name
        extend_model(tmp_path / "old", read, 40, target, **_TRAINING)
    first, second = (bundle.open(tmp_path / name) for name in "ab")
    weights = "model.weights.h5"  # where Keras writes a name that counts models
    assert {**first.listed, weights: ""} == {**second.listed, weights: ""}
    assert first.digest() == second.digest()


def test_what_cannot_be_extended(saved_model, tmp_path):
    xlnet = str(saved_model("encoder", "xlnet"))
    with pytest.raises(UserError, match="not a unigram model"):
        extend_model(xlnet, None, 9, tmp_path / "o")  # before there is a text
    (tmp_path / "old.txt").write_text("the film\n")
    options = TokenizerOptions(
        input_file=str(tmp_path / "old.txt"),
        output_prefix=str(tmp_path / "out"),
        extend=str(saved_model("encoder", "modernbert")),
    )
    with pytest.raises(UserError, match=r"The text \(1 lines\) suggests no new piece"):
        train_tokenizer(options)
    assert not (tmp_path / "out").exists()
