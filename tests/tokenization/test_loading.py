"""load_tokenizer recognises files and directories."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import brings_tokenizer
from albert_tf.tokenization.loading import tokenizer_of
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import wordpiece


@pytest.fixture
def words(tmp_path):
    (tmp_path / "vocab.txt").write_text(wordpiece(["A", "a", "é"]), "utf-8")
    return tmp_path / "vocab.txt"


def test_directory_with_a_model(train_model, tmp_path):
    for name in ("spiece.model", "30k-clean.model", "mine.model", "y"):
        path = tmp_path / name
        path.write_bytes(train_model())
        (tmp_path / "30k-clean.vocab").write_text("<pad>\t0\n")
        assert load_tokenizer(path if name == "y" else tmp_path).kind == "sentencepiece"
        path.unlink()
    (tmp_path / "assets").mkdir()  # as in a module of TensorFlow Hub
    (tmp_path / "assets" / "30k-clean.model").write_bytes(train_model())
    assert load_tokenizer(tmp_path).kind == "sentencepiece"
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="json counts with the files beside it; name i"):
        load_tokenizer(tmp_path / "tokenizer.json")


def test_a_saved_directory_keeps_its_casing(words, tmp_path):
    uncased = load_tokenizer(f"file://{tmp_path}")
    assert uncased.encode("a") == [6]
    cased = load_tokenizer(words, do_lower_case=False)
    cased.save(tmp_path / "model")
    assert load_tokenizer(tmp_path / "model").encode("A a") == [5, 6]
    assert cased.fingerprint() != uncased.fingerprint()
    for name in ("SHA256SUMS", "vocab.txt"):
        (tmp_path / "model" / name).unlink()
    with pytest.raises(UserError, match="model/vocab.txt cannot be read: No such file"):
        load_tokenizer(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert config == {"kind": "wordpiece", "file": "vocab.txt", "do_lower_case": False}
    words.write_text(words.read_text("utf-8"), "utf-8-sig")
    assert load_tokenizer(words).fingerprint() == uncased.fingerprint()


def test_a_hugging_face_directory_brings_its_vocabulary_if_it_has_one(tmp_path):
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"tokenizer_class": "AlbertTokenizer", "do_lower_case": false}')
    assert tokenizer_of(tmp_path) is None
    (tmp_path / "vocab.txt").write_text(wordpiece("Aa"))
    own = tokenizer_of(tmp_path)
    assert brings_tokenizer(tmp_path)
    assert not own.do_lower_case
    with pytest.raises(UserError, match=r"is not the vocabulary \(or casing\)"):
        tokenizer_of(tmp_path, tmp_path / "vocab.txt", do_lower_case=True)
    with pytest.raises(UserError, match=r"has do_lower_case=false, but .*=true was"):
        tokenizer_of(tmp_path, do_lower_case=True)
    named = tokenizer_of(tmp_path, tmp_path / "vocab.txt", do_lower_case=False)
    assert named.fingerprint() == own.fingerprint()
    config.write_text('{"tokenizer_class": "AlbertTokenizer"}')
    assert tokenizer_of(tmp_path) is None  # of unknown casing


def test_their_albert_joins_quotes_and_an_official_one_does_not(train_model, tmp_path):
    (tmp_path / "spiece.model").write_bytes(train_model())
    (tmp_path / "config.json").write_text('{"model_type": "albert"}')
    quoted = "the ``cat'' sat"
    theirs = load_tokenizer(tmp_path)
    official = load_tokenizer(tmp_path / "spiece.model")
    assert theirs.tokenize(quoted) == official.tokenize('the "cat" sat')
    assert official.tokenize(quoted) != official.tokenize('the "cat" sat')
    assert theirs.fingerprint() != official.fingerprint()
    (tmp_path / "config.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "AlbertTokenizer"}'
    )
    assert load_tokenizer(tmp_path).fingerprint() == theirs.fingerprint()
    check(theirs, [quoted])
    spans = theirs.encode_with_offsets(quoted)[1]
    assert spans[theirs.tokenize(quoted).index('"')] == (4, 6)
    theirs.save(tmp_path / "saved")
    # The vocabulary's file alone says nothing of its rules.
    named = tokenizer_of(tmp_path / "saved", tmp_path / "spiece.model")
    assert named.fingerprint() == theirs.fingerprint()
    official.save(tmp_path / "official")
    with pytest.raises(UserError, match="is not the vocabulary"):
        tokenizer_of(tmp_path / "official", tmp_path / "saved")


@pytest.mark.parametrize("config_file", ["config.json", "bert_config.json"])
def test_the_ids_of_bert_are_the_numbers_of_lines(config_file, tmp_path):
    lines = ["a", "\u3000", "the", "\u2028", "a", "", "is", "##s", "the"]
    (tmp_path / "vocab.txt").write_text(wordpiece(lines), "utf-8")
    official = load_tokenizer(tmp_path)  # of ALBERT, which counts different lines
    assert official.encode("a the is") == [5, 7, 8]
    (tmp_path / config_file).write_text('{"model_type": "bert"}')
    tokenizer = load_tokenizer(tmp_path)
    # Of equal lines, the last one counts.
    assert check(tokenizer, ["a the is x iss"]) == [[9, 13, 11, 1, 11, 12]]
    assert tokenizer.vocab_size == 14
    assert tokenizer.convert_ids_to_tokens([5, 9, 10]) == ["a", "a", ""]
