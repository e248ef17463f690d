"""Directories that Hugging Face's libraries and Google's BERT wrote."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_LAST
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import tokenizer_of
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import wordpiece as vocabulary
from tests.vocabularies import xlnet_pieces

QUOTED = "the ``cat'' sat"
LINES = ["a", "\u3000", "the", "\u2028", "a", "", "is", "##s", "the"]


@pytest.fixture
def albert(train_model, tmp_path):
    """A directory as Hugging Face keeps an ALBERT."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "spiece.model").write_bytes(train_model())
    (tmp_path / "theirs" / "config.json").write_text('{"model_type": "albert"}')
    return tmp_path / "theirs"


def test_their_albert_joins_quotes_and_an_official_one_does_not(albert, tmp_path):
    theirs, official = load_tokenizer(albert), load_tokenizer(albert / "spiece.model")
    assert theirs.tokenize(QUOTED) == official.tokenize('the "cat" sat')
    assert official.tokenize(QUOTED) != official.tokenize('the "cat" sat')
    assert theirs.fingerprint() != official.fingerprint()
    check(theirs, [QUOTED])
    spans = theirs.encode_with_offsets(QUOTED)[1]
    assert spans[theirs.tokenize(QUOTED).index('"')] == (4, 6)


def test_rules_stay_with_a_model(albert, tmp_path):
    theirs = load_tokenizer(albert)
    theirs.save(tmp_path / "saved")
    again = load_tokenizer(tmp_path / "saved")
    assert again.encode(QUOTED) == theirs.encode(QUOTED)
    assert again.fingerprint() == theirs.fingerprint()
    assert again.laid_out(CLS_LAST).encode(QUOTED) == theirs.encode(QUOTED)
    # The vocabulary's file alone says nothing of its rules.
    named = tokenizer_of(tmp_path / "saved", albert / "spiece.model")
    assert named.fingerprint() == theirs.fingerprint()
    official = load_tokenizer(albert / "spiece.model")
    official.save(tmp_path / "official")
    with pytest.raises(UserError, match="is not the vocabulary"):
        tokenizer_of(albert.parent / "official", tmp_path / "saved")


def test_an_own_xlnet_joins_quotes_without_a_rule(tmp_path):
    (tmp_path / "spiece.model").write_bytes(xlnet_pieces("a b"))
    official = load_tokenizer(tmp_path / "spiece.model")
    assert official.joins_quotes
    assert official.settings() == {"do_lower_case": False}


@pytest.mark.parametrize("config_file", ["config.json", "bert_config.json"])
def test_the_ids_of_bert_are_the_numbers_of_lines(config_file, tmp_path):
    (tmp_path / "vocab.txt").write_text(vocabulary(LINES), "utf-8")
    official = load_tokenizer(tmp_path)  # of ALBERT, which counts different lines
    assert official.encode("a the is") == [5, 7, 8]
    (tmp_path / config_file).write_text('{"model_type": "bert"}')
    tokenizer = load_tokenizer(tmp_path)
    # Of equal lines, the last one counts.
    assert check(tokenizer, ["a the is x iss"]) == [[9, 13, 11, 1, 11, 12]]
    assert tokenizer.vocab_size == 14
    assert tokenizer.convert_ids_to_tokens([5, 9, 10]) == ["a", "a", ""]
    tokenizer.save(tmp_path / "saved")
    again = load_tokenizer(tmp_path / "saved")
    assert again.encode("a the is") == [9, 13, 11]
    assert again.fingerprint() == tokenizer.fingerprint()


def test_rules_are_true_or_false(albert):
    name = "joins_quotes"
    (albert / "tokenizer_config.json").write_text(json.dumps({name: "yes"}))
    with pytest.raises(UserError, match=f"sets {name} to 'yes', expected true or"):
        load_tokenizer(albert)
