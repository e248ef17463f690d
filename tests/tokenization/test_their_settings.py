"""Settings of tokenizers that other libraries wrote: obeyed, or refused by name."""

import json

import numpy as np
import pytest
import tensorflow as tf
import transformers

from albert_tf.errors import UserError
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.in_graph.features import TextFeatures
from tests.vocabularies import wordpiece as vocabulary

WORDS = ["the", "cat", "sat", "on", "film", "is", "good", "mat", "caf\xe9", "cafe"]
TEXTS = ["the cat sat on the mat on film cat is good", "the cat", "mat is on the cat"]
OTHERS = ["good film is on", "the mat sat on the good cat is film", "cat"]


@pytest.fixture
def bert(tmp_path):

    def write(**settings):
        (tmp_path / "vocab.txt").write_text(vocabulary(WORDS), "utf-8")
        (tmp_path / "config.json").write_text('{"model_type": "bert"}')
        config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
        path = tmp_path / "tokenizer_config.json"
        path.write_text(json.dumps({**config, **settings}))
        return tmp_path

    return write


@pytest.mark.parametrize("others", [None, OTHERS])
def test_texts_keep_their_ends(bert, others):
    folder = bert(truncation_side="left")
    ours, vocab = load_tokenizer(folder), str(folder / "vocab.txt")
    theirs = transformers.BertTokenizer(vocab=vocab, truncation_side="left")
    options = {"max_length": 8, "truncation": True}
    expected = theirs(TEXTS, others, **options)["input_ids"]
    assert [len(row) for row in expected] != [8, 8, 8] or others
    found = ours(TEXTS, others, padding=False, max_length=8)["input_ids"]
    assert sorted(map(len, found)) == sorted(map(len, expected))
    if others is None:
        assert found == expected
        assert found[0] == [2, 12, 8, 9, 6, 10, 11, 3]
    graph = TextFeatures(ours, 8)(*map(tf.constant, filter(None, (TEXTS, others))))
    assert [[i for i in row if i] for row in graph["input_ids"].numpy()] == found
    rows = tokenize_texts(TEXTS, others, ours, 8)
    ids = np.split(rows.ids, rows.starts[1:])
    assert [row.tolist() for row in ids] == found
    # It counts for what is kept of its texts.
    assert ours.fingerprint() != load_tokenizer(folder / "vocab.txt").fingerprint()


def test_a_direction_in_tokenizer_json(bert):
    folder = bert()
    cut = {"direction": "Left", "max_length": 8, "strategy": "LongestFirst"}
    (folder / "tokenizer.json").write_text(json.dumps({"truncation": cut}))
    assert load_tokenizer(folder).rules.keeps_ends
    (folder / "tokenizer.json").write_text('{"padding": {"direction": "Left"}}')
    with pytest.raises(UserError, match="sets padding_side to 'left', under which"):
        load_tokenizer(folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "anese.*', whose pieces"),
        ({"auto_map": {"AutoTokenizer": ["a.B", None]}}, "sets auto_map to"),
        ({"word_tokenizer_type": "mecab"}, "'mecab', expected 'basic'"),
        ({"subword_tokenizer_type": "character"}, "expected 'wordpiece'"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize to False, expected True"),
        ({"clean_text": False}, "sets clean_text to False"),
        ({"never_split": ["a"]}, "sets never_split"),
        ({"sp_model_kwargs": {"enable_sampling": True}}, "sets sp_model_kwargs"),
        ({"split_special_tokens": True}, "sets split_special_tokens"),
        ({"padding_side": "left"}, "sets padding_side to 'left'"),
        ({"truncation_side": "middle"}, "expected 'left' or 'right'"),
        ({"normalization": True}, "sets normalization to True, which albert_tf does"),
        ({"additional_special_tokens": ["<e1>"]}, "'<e1>' of the directory has no id"),
    ],
)
def test_what_is_refused(bert, settings, message):
    with pytest.raises(UserError, match=message):
        load_tokenizer(bert(**settings))


def test_a_class_that_the_model_names(bert):
    folder = bert(tokenizer_class=None)
    (folder / "config.json").write_text('{"tokenizer_class": "KoBertTokenizer"}')
    with pytest.raises(UserError, match=r"config.json sets tokenizer_class to 'KoBert"):
        load_tokenizer(folder)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer_78b.model").write_bytes(b"")
    with pytest.raises(UserError, match=r"several \(vocab.txt, tokenizer_78b.model\)"):
        load_tokenizer(folder)


def test_what_changes_nothing(bert):
    plain = load_tokenizer(bert())
    theirs = transformers.BertTokenizer(vocab=str(bert() / "vocab.txt"))
    theirs.save_pretrained(bert() / "again")
    written = json.loads((bert() / "again" / "tokenizer_config.json").read_text())
    old = {"do_basic_tokenize": True, "never_split": None, "max_length": 128}
    old |= {"stride": 0, "truncation_strategy": "longest_first", "name_or_path": "x"}
    old |= {"padding_side": "right", "truncation_side": "right", "model_max_length": 9}
    old |= {"clean_up_tokenization_spaces": True, "additional_special_tokens": []}
    old |= {"special_tokens_map_file": None, "cls_token": {"content": "[CLS]"}}
    found = load_tokenizer(bert(**{**written, **old}))
    assert found.fingerprint() == plain.fingerprint()


def test_a_special_token_of_the_vocabulary(bert):
    folder = bert(additional_special_tokens=["film"])
    assert load_tokenizer(folder).encode("a filmis") == [1, 9, 10]


def test_lower_case_of_sentence_transformers(bert, tmp_path):
    ids = {piece: i for i, piece in enumerate(vocabulary(WORDS).splitlines())}
    theirs = transformers.BertTokenizer(vocab=ids, do_lower_case=False)
    from tokenizers import normalizers

    steps = [normalizers.Lowercase(), theirs.backend_tokenizer.normalizer]
    theirs.backend_tokenizer.normalizer = normalizers.Sequence(steps)
    theirs.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    ours = load_tokenizer(tmp_path)
    for text in ("The CAT sat", "CAF\xc9 caf\xe9 Cafe", "\u4e2d the\u0130"):
        found = theirs.backend_tokenizer.encode(text, add_special_tokens=False)
        assert ours.encode(text) == found.ids
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    pair = content["post_processor"]["pair"]
    pair[-2]["Sequence"]["type_id"] = 0
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="has the post_processor"):
        load_tokenizer(tmp_path)
    content["normalizer"]["normalizers"].append({"type": "NFC"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="has the normalizers .*NFC"):
        load_tokenizer(tmp_path)
