"""Accents, vowel signs and other combining characters: dropped, or kept on request."""

import json

import pytest

from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.sentencepiece import KEEPS_ACCENTS
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece as vocabulary

PAIRS = [
    ("má", "mà"),
    ("かぎ", "かき"),
    ("क्या", "कया"),
    ("мой", "мои"),
    ("schön", "schon"),
]


@pytest.fixture(scope="module")
def model(train_model):
    texts = [word for pair in PAIRS for word in pair]
    return train_model(
        sentence_iterator=iter(texts), character_coverage=1.0, vocab_size=100
    )


def equal_pairs(tokenizer):
    return [a for a, b in PAIRS if tokenizer.encode(a) == tokenizer.encode(b)]


def test_the_vocabulary_remembers(model, tmp_path):
    assert len(equal_pairs(SentencePieceTokenizer(model))) == len(PAIRS)
    (tmp_path / "v.model").write_bytes(model + KEEPS_ACCENTS)
    tokenizer = load_tokenizer(tmp_path / "v.model", do_lower_case=False)
    assert equal_pairs(tokenizer) == []
    assert tokenizer.unk_id not in tokenizer.encode("má schön क्या")


def test_a_directory_wins_over_its_vocabulary(model, tmp_path):
    config = tmp_path / "tokenizer_config.json"
    for ending, keeps in [(b"", True), (KEEPS_ACCENTS, False)]:
        (tmp_path / "spiece.model").write_bytes(model + ending)
        config.write_text(json.dumps({"keep_accents": keeps}))
        tokenizer = load_tokenizer(tmp_path)
        assert tokenizer.keep_accents == keeps


def test_places_of_kept_accents(model):
    rules = TextRules(keep_accents=True, joins_quotes=True)
    tokenizer = SentencePieceTokenizer(model, True, rules=rules)
    text = "m''İ a\u0301``n"
    ids, spans = tokenizer.encode_with_offsets(text)
    parts = [text[start:end] for start, end in spans]
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert "a\u0301" in parts or "a\u0301``" in parts


@pytest.mark.parametrize(
    ("lowers", "strips", "pieces"),
    [(True, False, ["é", "##é", "[UNK]"]), (False, True, ["E", "##e", "I", "##x"])],
)
def test_wordpiece_strips_accents_apart_from_the_case(lowers, strips, pieces, tmp_path):
    text = vocabulary(["e", "##e", "é", "##é", "É", "E", "I", "i", "##x", "##é"])
    (tmp_path / "vocab.txt").write_text(text, "utf-8")
    config = {"do_lower_case": lowers, "strip_accents": strips}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.tokenize("Éé İx") == pieces


def test_fingerprints_tell_only_departures(model):
    pieces = vocabulary(["e"]).encode()
    prints = [
        WordPieceTokenizer(pieces, True, rules=TextRules(**rules)).fingerprint()
        for rules in ({}, {"strip_accents": True}, {"strip_accents": False})
    ]
    assert prints[0] == prints[1] != prints[2]
    prints = [
        SentencePieceTokenizer(model, rules=TextRules(**rules)).fingerprint()
        for rules in ({}, {"keep_accents": False}, {"keep_accents": True})
    ]
    assert prints[0] == prints[1] != prints[2]


def test_stripped_characters_are_counted(model):
    text = "má क्या が ma\u0301 abc"
    assert SentencePieceTokenizer(model).count_stripped(text) == 4
    kept = SentencePieceTokenizer(model, rules=TextRules(keep_accents=True))
    assert kept.count_stripped(text) == 0
    pieces = vocabulary(["a"]).encode()
    assert WordPieceTokenizer(pieces, True).count_stripped("é क्या नहीं") == 3
    assert WordPieceTokenizer(pieces, False).count_stripped("é") == 0
