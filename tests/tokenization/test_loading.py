"""load_tokenizer recognises files and directories."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import brings_tokenizer
from albert_tf.tokenization.loading import tokenizer_of
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import wordpiece as vocabulary
from tests.vocabularies import xlnet_pieces

VOCABULARY = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n"


def test_directory_with_a_model(train_model, tmp_path):
    for name in ("spiece.model", "30k-clean.model", "mine.model", "y"):
        path = tmp_path / name
        path.write_bytes(train_model())
        (tmp_path / "30k-clean.vocab").write_text("<pad>\t0\n")
        assert load_tokenizer(path if name == "y" else tmp_path).kind == "sentencepiece"
        path.unlink()


def test_saved_directory_keeps_ids_casing_and_fingerprint(tmp_path):
    (tmp_path / "vocab.txt").write_bytes(VOCABULARY)
    assert load_tokenizer(f"file://{tmp_path}").encode("a") == [6]
    cased = load_tokenizer(tmp_path / "vocab.txt", do_lower_case=False)
    cased.save(tmp_path / "model")
    loaded = load_tokenizer(tmp_path / "model")
    assert loaded.encode("A a") == [5, 6]
    assert loaded.fingerprint() == cased.fingerprint()
    config = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert config == {"kind": "wordpiece", "file": "vocab.txt", "do_lower_case": False}
    uncased = load_tokenizer(tmp_path / "vocab.txt")
    assert uncased.fingerprint() != cased.fingerprint()


def test_a_hugging_face_directory_brings_its_vocabulary_if_it_has_one(tmp_path):
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"tokenizer_class": "AlbertTokenizer", "do_lower_case": false}')
    assert tokenizer_of(tmp_path) is None
    (tmp_path / "vocab.txt").write_bytes(VOCABULARY)
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


@pytest.mark.parametrize(
    ("normalizer", "lowers"),
    [
        (None, False),
        ({"type": "Lowercase"}, True),
        ({"type": "BertNormalizer", "lowercase": False}, False),
        ({"type": "Sequence", "normalizers": [{}, {"lowercase": True}]}, True),
        ({"lowercase": "false"}, None),
    ],
)
def test_the_casing_of_a_normalizer(tmp_path, normalizer, lowers):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    (tmp_path / "tokenizer.json").write_text(json.dumps({"normalizer": normalizer}))
    if lowers is None:
        with pytest.raises(UserError, match="holds a damaged tokenizer"):
            load_tokenizer(tmp_path)
    else:
        assert load_tokenizer(tmp_path).do_lower_case is lowers


def test_a_list_of_pieces_is_strictly_utf_8(tmp_path):
    text, path = VOCABULARY.decode() + "é\n", tmp_path / "vocab.txt"
    path.write_text(text, "utf-8")
    expected = load_tokenizer(path).fingerprint()
    path.write_text(text, "utf-8-sig")
    assert load_tokenizer(path).fingerprint() == expected
    path.write_text(text, "latin-1")
    with pytest.raises(UserError, match="vocab.txt is not UTF-8"):
        load_tokenizer(path)


def test_no_vocabulary_of_several_is_guessed(train_model, tmp_path):
    (tmp_path / "spiece.model").write_bytes(train_model())
    (tmp_path / "vocab.txt").write_bytes(VOCABULARY)
    with pytest.raises(UserError, match=r"several \(spiece.model, vocab.txt\)"):
        load_tokenizer(tmp_path)


QUOTED = "the ``cat'' sat"
LINES = ["a", "\u3000", "the", "\u2028", "a", "", "is", "##s", "the"]


@pytest.fixture
def albert(train_model, tmp_path):
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


def test_the_vocabulary_of_another_model_is_refused(albert, tmp_path):
    load_tokenizer(albert).save(tmp_path / "saved")
    # The vocabulary's file alone says nothing of its rules.
    named = tokenizer_of(tmp_path / "saved", albert / "spiece.model")
    assert named.fingerprint() == load_tokenizer(albert).fingerprint()
    load_tokenizer(albert / "spiece.model").save(tmp_path / "official")
    with pytest.raises(UserError, match="is not the vocabulary"):
        tokenizer_of(tmp_path / "official", tmp_path / "saved")


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


def test_rules_are_true_or_false(albert):
    name = "joins_quotes"
    (albert / "tokenizer_config.json").write_text(json.dumps({name: "yes"}))
    with pytest.raises(UserError, match=f"sets {name} to 'yes', expected true or"):
        load_tokenizer(albert)
