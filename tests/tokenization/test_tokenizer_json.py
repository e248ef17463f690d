"""Directories of transformers 5, which hold a tokenizer as `tokenizer.json` only."""

import json

import pytest
import tensorflow as tf
import transformers

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
from tests.vocabularies import wordpiece as vocabulary

FILE = "tokenizer.json"
HOSTILE = [
    "The cat's \u039f\u03a3 \u039f\u03a3\u039f\u03a3 \u03a3",
    "caf\u00e9 re\u0301sume\u0301 \ufb01ne \u216b \u0130stanbul \u1e9e \ufb03",
    "\u00c5 a\u0308\u0323",
    "\u4e2d\u56fd\u306b\u3042 \uff0e\uff01",
    "\uac00\ud55c\uae00 \u0915\u094d\u092f\u093e \u0e01\u0e33",
    "a\ue000b \U000f0000c a\u200bb a\u00adb a\ufeffb \ufffd a\u0085b \x7f \x01",
    " \t spaces\u3000every\u00a0where\u2028now \n",
    "",
    " ",
    "a" * 100 + " " + "a" * 101 + " " + "b" * 200,
    '\U0001f600 dog1974, 1974,. 3.14 (x-y) \u2013 \u00a35 \u20ac6 "q"',
    "``x'' `` '' ``' '''",
    "a[E1]b COVID covid\u0301 new york\u4e2d",
    "\u2581a\u2581 b_c\u2581",
]
PIECES = (
    "the cat ##s a ##a b ##b ab abc c ##c e ##e caf cafe fine \u03bf ##\u03c3 ##\u03c2 "
    "\u03c3 \u03c2 \u4e2d \u56fd ' ` \" - . , ( ) $ 1 ##9 ##7 ##4 q x y d ##o ##g i "
    "The T ##h \u039f ##\u03a3 \u03a3 every where now \u2013 E ##1 [ ] \u00e9 ##\u00e9"
)


def _bert(folder, **options):
    ids = {p: i for i, p in enumerate(vocabulary(PIECES.split()).splitlines())}
    theirs = transformers.BertTokenizer(vocab=ids, **options)
    theirs.save_pretrained(folder)
    return theirs


def _compare(theirs, folder, texts=HOSTILE):
    """Checks ids and places of Python and graph, before and after saving."""
    assert not [n for n in folder.iterdir() if n.suffix in (".model", ".txt")]
    ours = load_tokenizer(folder)
    expected = theirs(list(texts), add_special_tokens=False)["input_ids"]
    for text, ids in zip(texts, expected, strict=True):
        assert ours.encode(text) == ids, text
        assert ours.encode_with_offsets(text)[0] == ids
    graph = InGraphTokenizer(ours)
    assert graph(tf.constant(texts)).to_list() == expected
    ids, starts, ends = graph.with_offsets(tf.constant(texts))
    assert ids.to_list() == expected
    spans = [
        list(zip(*row, strict=True))
        for row in zip(starts.to_list(), ends.to_list(), strict=True)
    ]
    assert spans == [ours.encode_with_offsets(text)[1] for text in texts]
    ours.save(folder.parent / "ours")
    again = load_tokenizer(folder.parent / "ours")
    assert again.encode_batch(texts) == expected
    assert again.fingerprint() == ours.fingerprint()
    return ours


@pytest.mark.parametrize("strips", [None, True, False])
@pytest.mark.parametrize("lowers", [True, False])
def test_wordpiece(lowers, strips, tmp_path):
    theirs = _bert(tmp_path / "x", do_lower_case=lowers, strip_accents=strips)
    theirs.add_tokens(["[E1]", transformers.AddedToken("Covid", normalized=True)])
    theirs.save_pretrained(tmp_path / "x")
    ours = _compare(theirs, tmp_path / "x")
    assert ours.do_lower_case is lowers


def _change(folder, change):
    content = json.loads((folder / FILE).read_text())
    change(content)
    (folder / FILE).write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["model"].update(type="BPE"), "type 'BPE', .*; put the spiece.mo"),
        (lambda c: c["model"].update(unk_token="?"), "the model .*put the vocab.txt"),
        (
            lambda c: c["normalizer"].update(handle_chinese_chars=False),
            "the normalizer .*put the vocab.txt",
        ),
        (lambda c: c["pre_tokenizer"].update(type="Whitespace"), "the pre_tokenizer"),
        (lambda c: c["model"]["vocab"].update(z=999), "gaps between its ids"),
        (lambda c: c["model"]["vocab"].update({"a\nb": 64}), "gaps|of two lines"),
        (lambda c: c.update(normalizer=None), "is a damaged tokenizer"),
        (lambda c: c["model"].update(vocab=[]), "is a damaged tokenizer"),
        (lambda c: c["normalizer"].update(lowercase=False), "copy the files again"),
    ],
)
def test_what_is_refused(change, message, tmp_path):
    _bert(tmp_path)
    _change(tmp_path, change)
    with pytest.raises(UserError, match=message):
        load_tokenizer(tmp_path)


def test_a_file_alone(tmp_path):
    _bert(tmp_path)
    with pytest.raises(UserError, match="name its directory"):
        load_tokenizer(tmp_path / FILE)
