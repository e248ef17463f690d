"""load_tokenizer recognises files and directories."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.loading import brings_tokenizer
from albert_tf.tokenization.loading import tokenizer_of

VOCABULARY = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n"


@pytest.mark.parametrize("name", ["spiece.model", "30k-clean.model", "mine.model"])
def test_directory_with_a_model(train_model, tmp_path, name):
    (tmp_path / name).write_bytes(train_model())
    (tmp_path / "30k-clean.vocab").write_text("<pad>\t0\n")
    assert load_tokenizer(tmp_path).kind == "sentencepiece"
    (tmp_path / name).rename(tmp_path / "y")
    assert load_tokenizer(tmp_path / "y").kind == "sentencepiece"


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
