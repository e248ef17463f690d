"""Directories of transformers 5, which hold a tokenizer as `tokenizer.json` only."""

import json

import pytest
import transformers

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_LAST
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import sentencepiece_file
from tests.tokenization.in_graph.graphs import check
from tests.vocabularies import wordpiece as vocabulary

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
    "thecat now",
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
    assert check(ours, texts) == expected
    ours.save(folder.parent / "ours")
    again = load_tokenizer(folder.parent / "ours")
    assert again.encode_batch(texts) == expected
    assert again.fingerprint() == ours.fingerprint()
    return ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lowers", "strips"),
    [(True, False), pytest.param(False, True, marks=pytest.mark.nightly)],
)
def test_wordpiece(lowers, strips, tmp_path):
    theirs = _bert(tmp_path / "x", do_lower_case=lowers, strip_accents=strips)
    theirs.add_tokens(["[E1]", transformers.AddedToken("Covid", normalized=True)])
    theirs.save_pretrained(tmp_path / "x")
    ours = _compare(theirs, tmp_path / "x")
    assert ours.do_lower_case is lowers


SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
WORDS = (
    "_the _cat _caf _cafe s ' \" \u03bf \u03c3 \u03c2 \u4e2d \u56fd _1974, , "
    "_now where every _every $ ` \u0915 \u092f _\u0915 T h e _The i st f fi n "
    "the cat_now \xe9 E 1 [ ] _a b c x"
).replace("_", "\u2581")
SYMBOLS = ["(", ")", "-", ".", "–"]


def _charsmap(train_model):
    model = sentencepiece_file.ModelProto.FromString(train_model())
    return model.normalizer_spec.precompiled_charsmap


def _unigram(name, folder, special, charsmap, **options):
    pieces = [*special, *SYMBOLS, "\u2581", *WORDS.split()]
    # No two sums of these scores are equal.
    vocab = [(p, 0.0) for p in pieces[: len(special) + len(SYMBOLS)]]
    vocab += [
        (p, -2 - (17 * k) ** 0.5) for k, p in enumerate(pieces[len(vocab) :], start=1)
    ]
    options |= {"unk_id": pieces.index("<unk>"), "_spm_precompiled_charsmap": charsmap}
    theirs = getattr(transformers, name)(vocab=vocab, **options)
    symbols = [transformers.AddedToken(s, normalized=False) for s in SYMBOLS]
    theirs.add_tokens([*symbols, transformers.AddedToken("Covid", normalized=True)])
    theirs.save_pretrained(folder)
    return theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lowers", "keeps"),
    [(True, True), pytest.param(False, False, marks=pytest.mark.nightly)],
)
def test_albert(lowers, keeps, train_model, tmp_path):
    options = {"do_lower_case": lowers, "keep_accents": keeps}
    charsmap = _charsmap(train_model)
    folder = tmp_path / "x"
    theirs = _unigram("AlbertTokenizer", folder, SPECIAL, charsmap, **options)
    ours = _compare(theirs, folder)
    assert ours.do_lower_case is lowers
    assert ours.keep_accents is keeps
    assert ours.joins_quotes
    assert ours.tokenize("the cat.")[-1] == "."


@pytest.mark.slow
def test_xlnet(train_model, tmp_path):
    special = [
        "<unk>",
        "<s>",
        "</s>",
        "<cls>",
        "<sep>",
        "<pad>",
        "<mask>",
        "<eod>",
        "<eop>",
    ]
    charsmap = _charsmap(train_model)
    folder = tmp_path / "x"
    theirs = _unigram("XLNetTokenizer", folder, special, charsmap)
    ours = _compare(theirs, folder)
    assert ours.layout == CLS_LAST


def _albert(folder):
    return _unigram("AlbertTokenizer", folder, SPECIAL, None)


def test_a_vocabulary_without_a_table(tmp_path):
    texts = ["the cat (1974, x)\u00a0 now.", "a e\u0301 \u0915"]
    _compare(_albert(tmp_path / "x"), tmp_path / "x", texts)


def _set(part, **entries):
    return lambda content: content[part].update(entries)


def _two_lines(content):
    vocabulary = content["model"]["vocab"]
    vocabulary["a\nb"] = len(vocabulary)


@pytest.mark.parametrize(
    ("write", "change", "message"),
    [
        (_bert, _set("model", type="WordLevel"), 'the model "WordLevel"'),
        (_bert, _set("model", unk_token="?"), "the model .*put the vocab.txt"),
        (_bert, _set("normalizer", handle_chinese_chars=False), "put the vocab.txt"),
        (_bert, _set("pre_tokenizer", type="Whitespace"), "the pre_tokenizer"),
        (_bert, lambda c: c["model"]["vocab"].update(z=999), "gaps between its ids"),
        (_bert, _two_lines, "of two lines"),
        (_bert, lambda c: c.update(normalizer=None), "holds a damaged tokenizer"),
        (_bert, _set("model", vocab=[]), "holds a damaged tokenizer"),
        (_bert, _set("normalizer", lowercase=False), "=true was asked for"),
        (_albert, _set("model", byte_fallback=True), "byte_fallback true"),
        (_albert, _set("model", unk_id=0), 'the unknown piece "<pad>"'),
        (_albert, lambda c: c["model"]["vocab"].append(["", -1.0]), "empty or twice"),
        (_albert, lambda c: c["pre_tokenizer"]["pretokenizers"].pop(0), "the pre_tok"),
        (
            _albert,
            lambda c: c["normalizer"]["normalizers"].reverse(),
            "the normalizers",
        ),
    ],
)
def test_what_is_refused(write, change, message, tmp_path):
    write(tmp_path)
    path = tmp_path / "tokenizer.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        load_tokenizer(tmp_path)
