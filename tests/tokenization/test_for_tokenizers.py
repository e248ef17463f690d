"""tokenizers and transformers give the same ids, by our files and by theirs."""

import itertools
import random
import unicodedata

import pytest
import tokenizers
import transformers

from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.row_layout import CLS_FIRST
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.for_tokenizers import _unlike
from albert_tf.tokenization.for_tokenizers import whole_file
from albert_tf.tokenization.for_tokenizers import write_whole_file
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.sentencepiece_file import ModelProto
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece as vocabulary

LINES = [
    "The cat sat on the mat in 2000, and on May 7, 1,304 dogs barked...",
    "Sää on hyvä tänään: äiti syö mökillä, isä löylyssä.",
    "Ёжик съел йод, а моё подъездное окно – твой синий край.",
    "हिन्दी में क्\u200dषमा और ज़रूर, क़लम ऋषि से नहीं।",
    "می\u200cروم به خانه. \u5929\u4e0b\u5927\u52bf\uff0c\u5206\u4e45\u5fc5\u5408\u3002",
    'ΟΔΟΣ ΣΑΣ σας σοφός (x-y) "q" £5',
]
TRICKY = [
    *"aeEΣσςİé½ﬁ\u65e5\u672c ,20\t\r\n\v\x85\u2028\u0301\u200b\u3000\ufeff\u2581",
    *"\x01\f\x1c\xad\u200c\u200d\u2060\ue000\uf0b7\ufb03\ufffd\uff5e",
    *["e\u0301", "2000,", "1,000,", "  ", "``", "''", "...", "e" * 199, "ΟΔΟΣ"],
    "Covid",
]
# Characters that all versions of Unicode's tables know alike.
KNOWN = [
    c
    for c in map(chr, range(1, 0x1FA00))
    if unicodedata.category(c) not in ("Cn", "Co", "Cs")
]


def hostile_texts(number, seed=0):
    rng = random.Random(seed)
    words = " ".join(LINES).split()
    draws = (TRICKY, TRICKY, [f"{word} " for word in words], KNOWN)
    for _ in range(number):
        parts = (rng.choice(rng.choice(draws)) for _ in range(rng.randint(0, 9)))
        text = "".join(parts)
        if _is_in_order(text) and not ("Covid" in text and "Σ" in text):
            yield text


def _is_in_order(text):
    """Returns whether NFKC neither moves marks nor joins them to half a character."""
    text = text.lower()
    parts = "".join(unicodedata.normalize("NFKD", c) for c in text)
    classes = [*map(unicodedata.combining, parts)]
    if any(0 < b < a for a, b in itertools.pairwise(classes)):
        return False
    composed = unicodedata.normalize("NFC", text)
    one_by_one = "".join(unicodedata.normalize("NFKC", c) for c in composed)
    return one_by_one == unicodedata.normalize("NFKC", text)


def tokenizer_of(folder, kind, **flags):
    if kind == "wordpiece":
        letters = sorted({c for c in "".join(LINES).lower() if not c.isspace()})
        pieces = [*letters, *map("##{}".format, letters), "the", "##at", "2000"]
        return WordPieceTokenizer(vocabulary(pieces).encode(), **flags)
    (folder / "text.txt").write_text("\n".join(LINES * 9), "utf-8")
    size = {"unigram": 120, "bpe": 150, "char": 100}[kind]
    common = {"input_file": str(folder / "text.txt"), "character_coverage": 1.0}
    options = {"output_prefix": str(folder / "v"), "vocab_size": size, **flags}
    train_tokenizer(TokenizerOptions(model_type=kind, **common, **options))
    made = load_tokenizer(folder / "v.model", options.get("do_lower_case"))
    return made.with_added([AddedToken("Covid", made.vocab_size, True)])


VOCABULARIES = [
    ("unigram", {}),
    ("unigram", {"do_lower_case": False, "keep_accents": False}),
    ("bpe", {}),
    ("bpe", {"user_defined_symbols": "official"}),
    ("char", {"normalization": "nmt_nfkc"}),
    ("char", {"normalization": "nfkc"}),
    ("wordpiece", {"do_lower_case": True}),
    ("wordpiece", {"do_lower_case": False}),
]


_MARK = "the character \u2581"


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [300, pytest.param(20_000, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(("kind", "flags"), VOCABULARIES)
def test_hostile_texts(kind, flags, number, tmp_path):
    """Ids and places are those of the package."""
    ours = tokenizer_of(tmp_path, kind, **flags)
    theirs = tokenizers.Tokenizer.from_str(whole_file(ours).decode())
    skipped = "\u2581" if _MARK in _unlike(ours) else "\0"
    drops_accents = not getattr(ours, "keep_accents", True)
    for text in hostile_texts(number):
        if skipped in text:
            continue
        found = theirs.encode(text, add_special_tokens=False)
        ids, spans = ours.encode_with_offsets(text)
        assert found.ids == ids, ascii(text)
        is_whole = not drops_accents and unicodedata.is_normalized("NFKC", text)
        for (start, end), (begin, stop) in zip(spans, found.offsets, strict=True):
            assert begin == start, ascii(text)
            if start < end and is_whole:
                assert stop == end, ascii(text)


def _with_pieces(score, *pieces):
    """A model whose scores are multiples of what SentencePiece sums exactly, or not."""
    model = ModelProto.FromString(tie_pieces())
    for piece in model.pieces:
        piece.score = score
    for piece in pieces:
        model.pieces.add(piece=piece, score=-1)
    return SentencePieceTokenizer(model.SerializeToString())


def test_what_ids_may_differ_for(small, small_bpe):
    name = "the name of a special piece, such as [MASK]"
    words, cased = (
        WordPieceTokenizer(vocabulary(["a"]).encode(), do_lower_case=lowers)
        for lowers in (True, False)
    )
    sigma, number = "a capital sigma beside an added token", "a number before a comma"
    cuts, spelling = (
        "words that have two equally good cuts",
        "another spelling of an added token",
    )
    exact = _with_pieces(-1)
    known = AddedToken("ab", exact.pieces.index("ab"))
    behind = AddedToken("aabb", exact.vocab_size)
    for tokenizer, cases in (
        (small_bpe, []),
        (small_bpe.laid_out(CLS_FIRST), ["a second text"]),
        (words, [name]),
        (words.with_added([AddedToken("b", 6)]), [name, sigma]),
        (cased.with_added([AddedToken("b", 6)]), [name]),
        (exact, [name, _MARK]),
        (_with_pieces(-1.3), [name, _MARK, cuts]),
        (_with_pieces(-1, "0,"), [name, _MARK, number]),
        (exact.with_added([known]), [name, sigma, _MARK, spelling]),
        (exact.with_added([behind]), [name, sigma, _MARK]),
    ):
        assert _unlike(tokenizer) == cases
    of_table = [case for case in _unlike(small) if "NFKC" in case or "table" in case]
    assert len(of_table) == 2
    assert _MARK not in _unlike(small)


def test_what_is_said_of_the_file(small_bpe, train_model, tmp_path, caplog):
    words = SentencePieceTokenizer(train_model(model_type="word", vocab_size=40))
    letters = WordPieceTokenizer(vocabulary(["a"]).encode())
    with caplog.at_level("INFO", "absl"), ChecksummedFolder(tmp_path) as folder:
        written = [write_whole_file(t, folder) for t in (words, small_bpe, letters)]
    assert written == [False, True, True]
    none, whole, some = (record.getMessage() for record in caplog.records)
    assert none.startswith("no tokenizer.json is written: the package tokenizers has")
    assert whole == "tokenizer.json gives the same ids in other libraries"
    special = "the name of a special piece, such as [MASK]"
    assert some == f"{whole}, but for texts with {special}"


@pytest.mark.parametrize(
    ("rules", "table", "text", "expected"),
    [
        ({"keep_accents": True}, "nmt_nfkc", "\uff5e", "\uff5e"),
        ({"keep_accents": True}, "nfkc", "\uff5e", "~"),
        ({}, "nfkc", "\u0915\u0903", "\u0915\u0903"),
        ({"as_tokenizers": True}, "nfkc", "\u0915\u0903", "\u0915"),
    ],
)
def test_what_becomes_of_a_character(rules, table, text, expected, train_model):
    model = train_model(normalization_rule_name=table)
    ours = SentencePieceTokenizer(model, rules=TextRules(**rules))
    theirs = tokenizers.Tokenizer.from_str(whole_file(ours).decode())
    assert theirs.normalizer.normalize_str(text) == expected
    assert ours.normalized(ours.prepare(text)) == expected


def test_symbols_of_a_sentencepiece_model_are_no_added_tokens(train_model, tmp_path):
    model = train_model(model_type="unigram", user_defined_symbols=["(", "-"])
    (tmp_path / "spiece.model").write_bytes(model)
    official = load_tokenizer(tmp_path / "spiece.model")
    transformers.AlbertTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert ours.encode("(the cat-cat") == official.encode("(the cat-cat")
    assert not ours.added_ids
