"""A tokenizer of every kind comes back whole, in each form that it is written in."""

import functools
import json
import pickle

import pytest
import transformers

from albert_tf.row_layout import CLS_FIRST
from albert_tf.row_layout import CLS_LAST
from albert_tf.row_layout import ONE_SEGMENT
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.loading import tokenizer_of
from albert_tf.tokenization.sentencepiece import KEEPS_ACCENTS
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import byte_bpe
from tests.vocabularies import deberta_pieces
from tests.vocabularies import modern_bpe
from tests.vocabularies import wordpiece
from tests.vocabularies import xlm_pieces

TEXTS = [
    "The cat sat on the mat",
    "it's a fox, isn't it? $3",
    "caf\u00e9 re\u0301sum\u00e9 \ufb01ne \u216b Zoë",
    "\u4e2d\u56fd the \u3042 \U0001f600 dog barked now [E1] Covid",
    " \t spaces\u3000everywhere",
    "",
]
# What versions recorded that did not sort added tokens.
_RECORDED_UNSORTED = "b6ba590c9744bd5e1c60e054a66d7cf03df474b2bcccbc3f62c7400b713d9a7d"
QUOTED = ["the ``cat'' sat"]  # their ALBERT joins two quotes, whatever it is told
WORDS = ["a", "the", "cat", "s", "##s", "z", "##o", "e", "\xe9", "##\xeb", "A", "T"]
LINES = [*WORDS, "\u3000", "a", "", "\u2028", "the"]  # which BERT counts as they are
_ADDED = {"17": {"content": "[E1]"}, "18": {"content": "Covid", "normalized": True}}


def _pieces(folder, train_model, ending=b"", **changes):
    (folder / "spiece.model").write_bytes(train_model(**changes) + ending)


def _words(folder, _, words=WORDS):
    (folder / "vocab.txt").write_text(wordpiece(words), "utf-8")


def _file(write):
    return lambda folder, _: write(folder)


_OF_XLNET = {
    "pad_id": -1,
    "unk_id": 0,
    "control_symbols": ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>"],
}
# By name: how its vocabulary is written, its `model_type`, and its settings.
KINDS = {
    "official": (_pieces, None, None),
    "albert": (_pieces, "albert", {}),
    "keeps accents": (functools.partial(_pieces, ending=KEEPS_ACCENTS), None, None),
    "drops accents": (
        functools.partial(_pieces, ending=KEEPS_ACCENTS),
        None,
        {"keep_accents": False},
    ),
    "xlnet": (functools.partial(_pieces, **_OF_XLNET), "xlnet", None),
    "wordpiece": (_words, None, None),
    "cased": (_words, None, {"do_lower_case": False, "strip_accents": True}),
    "accents": (_words, None, {"do_lower_case": True, "strip_accents": False}),
    "bert": (
        functools.partial(_words, words=LINES),
        "bert",
        {"do_lower_case": True, "truncation_side": "left"},
    ),
    "added": (_words, "bert", {"do_lower_case": True, "added_tokens_decoder": _ADDED}),
    "roberta": (_file(byte_bpe), "roberta", {}),
    "roberta with a space": (
        _file(byte_bpe),
        "roberta",
        {"add_prefix_space": True, "padding_side": "left"},
    ),
    "modernbert": (_file(modern_bpe), "modernbert", None),
    "xlm-roberta": (_file(xlm_pieces), "xlm-roberta", None),
    "deberta": (_file(deberta_pieces), "deberta-v2", None),
}


@pytest.fixture(params=KINDS)
def tokenizer(request, train_model, tmp_path):
    """A tokenizer, with its two forms in `tmp_path`, "own" and "theirs"."""
    write, model_type, settings = KINDS[request.param]
    folder = tmp_path / "first"
    folder.mkdir()
    write(folder, train_model)
    if model_type:
        (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    if settings is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = load_tokenizer(folder)
    tokenizer.save(tmp_path / "own")
    save_for_others(tokenizer, tmp_path / "theirs", "huggingface", max_seq_length=99)
    config = json.dumps({"model_type": model_type or "albert"})
    (tmp_path / "theirs" / "config.json").write_text(config)
    return tokenizer


def rows(tokenizer, texts):
    return tokenizer(texts, texts[::-1], padding=False, max_length=9)


def test_it_comes_back_whole(tokenizer, tmp_path):
    expected = rows(tokenizer, TEXTS + QUOTED)
    own = tmp_path / "own"
    copies = [load_tokenizer(own), pickle.loads(pickle.dumps(tokenizer))]
    copies += [load_tokenizer(tmp_path / "theirs")]
    if tokenizer.kind != "byte_bpe":  # whose file counts with those beside it
        file = own / tokenizer.file_name
        copies += [tokenizer_of(own, file, tokenizer.do_lower_case)]
    for copy in copies:
        assert rows(copy, TEXTS + QUOTED) == expected
        assert copy.fingerprint() == tokenizer.fingerprint()
        assert copy.get_vocab() == tokenizer.get_vocab()
    other = CLS_FIRST if tokenizer.layout == CLS_LAST else CLS_LAST
    turned = tokenizer.laid_out(other)
    assert turned is turned.laid_out(other) is not tokenizer
    turned.save(tmp_path / "turned")
    for copy in (
        load_tokenizer(tmp_path / "turned"),
        pickle.loads(pickle.dumps(turned)),
    ):
        assert copy.layout == other
        assert copy.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)


def test_the_files_of_the_official_code(small, tmp_path):
    save_for_others(small, tmp_path, "tf1", max_seq_length=99)
    assert (tmp_path / "30k-clean.model").read_bytes() == small.file_bytes
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings == small.settings() == {"do_lower_case": True}


def test_fingerprints_do_not_depend_on_the_order_of_added_tokens():
    base = WordPieceTokenizer(wordpiece(["a"]).encode())
    tokens = [AddedToken("y", 7), AddedToken("x", 6)]
    other, usual = base.with_added(tokens), base.with_added(tokens[::-1])
    assert other.fingerprint() == usual.fingerprint()
    assert usual.earlier_fingerprints().keys() == {usual.fingerprint()}
    ((recorded, warning),) = other.earlier_fingerprints().items()
    assert recorded == _RECORDED_UNSORTED
    assert "its pieces are the same" in warning


def test_transformers_reads_it(tokenizer, tmp_path):
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    # transformers leaves out how DeBERTa's model reads characters.
    texts = TEXTS[:2] if tokenizer.model_type == "DeBERTa" else TEXTS
    expected = theirs(texts, texts[::-1])
    found = tokenizer(texts, texts[::-1], padding=False)
    assert found["input_ids"] == expected["input_ids"]
    has_segments = tokenizer.layout != ONE_SEGMENT
    assert ("token_type_ids" in expected) is has_segments
    assert not has_segments or found["segment_ids"] == expected["token_type_ids"]
    assert theirs.model_max_length == 99
    assert theirs.padding_side == ("left" if tokenizer.layout.pads_left else "right")
    assert (theirs.mask_token_id, theirs.pad_token_id) == (
        tokenizer.mask_id,
        tokenizer.pad_id,
    )
