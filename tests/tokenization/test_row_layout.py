"""Rows made by calls, for training, and inside a graph; those of XLNet's layout."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import CLS_LAST
from albert_tf.row_layout import LAYOUTS
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.in_graph.features import TextFeatures
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import OFFICIAL
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import wordpiece

_TEXTS = ["good film", "the plot was bad not Very", ""]
_PAIRS = ["it is", "a film was not bad the", "film " * 9]


class _Ids:
    """The ids of a text are its words."""

    cls_id, sep_id, pad_id, layout, rules = 3, 4, 5, CLS_LAST, OFFICIAL

    def encode_flat(self, texts):
        rows = [list(map(int, text.split())) for text in texts]
        lengths = np.array([len(row) for row in rows], np.int32)
        return np.array(sum(rows, []), np.int32), lengths


def test_numbers_of_each_layout():
    """The tokens before a text, no place, and special tokens of a text and of two."""
    found = {
        name: (one.before, one.nowhere, one.special(False), one.special(True))
        for name, one in LAYOUTS.items()
    }
    assert found == {
        "cls_first": (1, 0, 2, 3),
        "cls_last": (0, -1, 2, 3),
        "two_separators": (1, 0, 2, 4),
        "one_segment": (1, 0, 2, 3),
    }


def test_the_vocabulary_tells_its_special_pieces(xlnet_tokenizer, small):
    xlnet = xlnet_tokenizer
    ids = {name: getattr(xlnet, name) for name in xlnet.special_pieces}
    pieces = {name: xlnet.pieces[index] for name, index in ids.items()}
    assert pieces == xlnet.special_pieces
    assert (ids["cls_id"], ids["sep_id"], ids["pad_id"]) == (3, 4, 5)
    assert (xlnet.layout, small.layout) == (CLS_LAST, CLS_FIRST)
    # XLNet's released models are cased.
    assert xlnet.convert_ids_to_tokens(xlnet.encode("Good good")) == ["<unk>", "▁good"]
    assert xlnet.decode(xlnet("good film")["input_ids"][0], True) == "good film"
    with pytest.raises(UserError, match="no piece '<pad>'; XLNet needs <pad>, <unk>"):
        without_pad = xlnet.file_bytes.replace(b"<pad>", b"<pod>")
        SentencePieceTokenizer(without_pad)


def test_two_quotes_are_one_for_xlnet(xlnet_pieces, small):
    tokenizer = SentencePieceTokenizer(xlnet_pieces('" "good \'good good'))
    assert tokenizer.settings() == {"do_lower_case": False}  # without a rule
    texts = ["``good good", "  ''  good", "'''good", "`good"]
    pieces = [['▁"good', "▁good"], ['▁"', "▁good"], ["<unk>"], ["<unk>"]]
    ids = [[tokenizer.convert_tokens_to_ids(p) for p in row] for row in pieces]
    spans = [[(0, 6), (7, 11)], [(2, 4), (6, 10)], [(0, 7)], [(0, 5)]]
    assert check(tokenizer, texts) == ids
    assert [tokenizer.encode_with_offsets(text)[1] for text in texts] == spans
    assert small.prepare("``a") == "``a"


@pytest.fixture(params=["small", "words", "xlnet_tokenizer"])
def tokenizer(request):
    if request.param == "words":
        pieces = ["good", "film", "the", "##m", "it", "is", "a", "not"]
        return WordPieceTokenizer(wordpiece(pieces).encode())
    return request.getfixturevalue(request.param)


def test_the_same_rows_everywhere(tokenizer):
    for pairs in (None, _PAIRS):
        expected = tokenizer(_TEXTS, pairs, max_length=8)
        tokens = tokenize_texts(_TEXTS, pairs, tokenizer, 8)
        trained = next(iter(evaluation_dataset(tokens.take([0, 1, 2]), 3, 8)))
        strings = [None if t is None else tf.constant(t) for t in (_TEXTS, pairs)]
        served = TextFeatures(tokenizer, 8)(*strings)
        for name, values in expected.items():
            np.testing.assert_array_equal(trained[name], values, name)
            np.testing.assert_array_equal(served[name], values, name)
    nothing = TextFeatures(tokenizer, 8)(tf.constant([], tf.string))
    assert {tuple(value.shape) for value in nothing.values()} == {(0, 1)}


@pytest.mark.slow
def test_the_rows_of_the_official_code(shared):
    cases = json.loads(shared("fixtures/xlnet/data/fine_tuning.json").read_text())
    assert any(case["b"] for case in cases) and not all(case["b"] for case in cases)
    for case in cases:
        a, b = (" ".join(map(str, case[name])) for name in "ab")
        length = case["max_seq_length"]
        tokens = tokenize_texts([a], [b] if b else None, _Ids(), length)
        dataset = evaluation_dataset(tokens, 1, length, pad_to_max_length=True)
        row = {name: values.numpy()[0] for name, values in next(iter(dataset)).items()}
        real = row["input_mask"] == 1
        assert (1 - row["input_mask"]).tolist() == case["input_mask"]
        for name in ("input_ids", "segment_ids"):
            assert row[name][real].tolist() == np.array(case[name])[real].tolist()
        # Padding differs: theirs is <unk> of segment 4, as no token sees it.
        assert set(row["input_ids"][~real]) <= {5}
        assert set(row["segment_ids"][~real]) <= {3}


def test_a_layout_that_the_vocabulary_does_not_tell_is_kept(small, tmp_path):
    small.save(tmp_path / "plain")
    assert "row_layout" not in (tmp_path / "plain/tokenizer_config.json").read_text()
    small.laid_out(CLS_LAST).save(tmp_path)
    assert load_tokenizer(tmp_path)("the")["input_ids"][0, -1] == small.cls_id
    path = tmp_path / "tokenizer_config.json"
    path.write_text(path.read_text().replace("cls_last", "cls_end"))
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="row_layout to 'cls_end', expected cls_first"):
        load_tokenizer(tmp_path)
