"""tokenizers and transformers give the same ids, by our files and by theirs."""

import itertools
import json
import random
import shutil
import unicodedata

import pytest
import tokenizers
import transformers
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.added_tokens import AddedToken
from albert_tf.tokenization.for_tokenizers import whole_file
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.normalization import is_chinese
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import train_tokenizer
from tests.vocabularies import byte_bpe
from tests.vocabularies import wordpiece as vocabulary
from tools.fuzz.inputs import CHARACTERS
from tools.fuzz.inputs import TEXTS

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


@pytest.fixture(scope="module")
def tokenizer_of(tmp_path_factory):

    def make(kind, **flags):
        if kind == "wordpiece":
            letters = sorted({c for c in "".join(LINES).lower() if not c.isspace()})
            pieces = [*letters, *map("##{}".format, letters), "the", "##at", "2000"]
            return WordPieceTokenizer(vocabulary(pieces).encode(), **flags)
        folder = tmp_path_factory.mktemp("vocabulary")
        (folder / "text.txt").write_text("\n".join(LINES * 9), "utf-8")
        size = {"unigram": 120, "bpe": 150, "char": 100}[kind]
        common = {"input_file": str(folder / "text.txt"), "character_coverage": 1.0}
        options = {"output_prefix": str(folder / "v"), "vocab_size": size, **flags}
        train_tokenizer(TokenizerOptions(model_type=kind, **common, **options))
        made = load_tokenizer(folder / "v.model", options.get("do_lower_case"))
        return made.with_added([AddedToken("Covid", made.vocab_size, True)])

    return make


VOCABULARIES = [
    ("unigram", {}),
    ("unigram", {"do_lower_case": False, "keep_accents": False}),
    ("bpe", {}),
    ("bpe", {"user_defined_symbols": "official"}),
    ("char", {"normalization": "nmt_nfkc"}),
    ("wordpiece", {"do_lower_case": True}),
    ("wordpiece", {"do_lower_case": False}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [300, pytest.param(20_000, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(("kind", "flags"), VOCABULARIES)
def test_hostile_texts(kind, flags, number, tokenizer_of):
    """Ids and places are those of the package."""
    ours = tokenizer_of(kind, **flags)
    theirs = tokenizers.Tokenizer.from_str(whole_file(ours).decode())
    drops_accents = not getattr(ours, "keep_accents", True)
    for text in hostile_texts(number):
        found = theirs.encode(text, add_special_tokens=False)
        ids, spans = ours.encode_with_offsets(text)
        assert found.ids == ids, ascii(text)
        is_whole = not drops_accents and unicodedata.is_normalized("NFKC", text)
        for (start, end), (begin, stop) in zip(spans, found.offsets, strict=True):
            assert begin == start, ascii(text)
            if start < end and is_whole:
                assert stop == end, ascii(text)


def test_byte_level_texts(tmp_path):
    byte_bpe(tmp_path)
    ours = load_tokenizer(tmp_path)
    theirs = tokenizers.Tokenizer.from_str(whole_file(ours).decode())
    for text in ["the <mask>cat", " 2000,\u3000<s>", *hostile_texts(300)]:
        assert theirs.encode(text, add_special_tokens=False).ids == ours.encode(text)


NAUGHTY = [
    "The cat sat on the mat",
    "a ``quick'' fox, isn't it? $3",
    "caf\u00e9 re\u0301sum\u00e9 \ufb01ne \u216b",
    "\u4e2d\u56fd the \u3042 \U0001f600 dog\u00a0barked\u2028now",
    " \t spaces\u3000everywhere \n",
    "",
    "\u0130stanbul \u1e9e \ufb03",
]
PIECES = "the cat sat on a fox ##s ##t c ##a ##f ##e do ##g , ' ` ? $ 3 \u4e2d \u56fd"


def _tokenizer(kind, train_model):
    if kind == "wordpiece":
        pieces = [*PIECES.split(), "T", "##h", "a", "", "fox"]
        return WordPieceTokenizer(vocabulary(pieces).encode(), True)
    special = {"control_symbols": ["<cls>", "<sep>", "<pad>", "<mask>"]}
    changes = {"pad_id": -1, "unk_id": 0, **special} if kind == "xlnet" else {}
    model = train_model(model_type="unigram", vocab_size=70, **changes)
    return SentencePieceTokenizer(model, kind == "xlnet")


def _is_read_alike(character):
    """Returns whether official WordPiece and theirs agree, by the tables of both.

    Theirs drops characters that are unassigned or private, lowers letters one by one
    (a sigma has two forms), and has other borders of the newest Chinese block.
    """
    is_newest = is_chinese(character) and character >= "\U0002b740"
    is_other = unicodedata.category(character) in ("Co", "Cn", "Cs")
    return not (is_newest or is_other or character in "Σ\0")


STEMS = st.text(st.sampled_from([*"aeéiσ20日本,\u0301\u093f"]), min_size=1, max_size=3)


@given(
    text=TEXTS.map(lambda text: "".join(filter(_is_read_alike, text))),
    pieces=st.lists(STEMS | STEMS.map("##{}".format) | CHARACTERS, max_size=12),
    do_lower_case=st.booleans(),
    strips=st.sampled_from([None, True, False]),
)
def test_any_words_are_those_of_tokenizers(text, pieces, do_lower_case, strips):
    rules = TextRules(strip_accents=strips)
    ours = WordPieceTokenizer(vocabulary(pieces).encode(), do_lower_case, rules=rules)
    ids = {piece: index for index, piece in enumerate(ours.pieces)}
    model = tokenizers.models.WordPiece(
        ids, unk_token="[UNK]", max_input_chars_per_word=200
    )
    theirs = tokenizers.Tokenizer(model)
    theirs.normalizer = tokenizers.normalizers.BertNormalizer(
        strip_accents=strips, lowercase=do_lower_case
    )
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    assert ours.encode(text) == theirs.encode(text).ids


ADDED = [
    transformers.AddedToken("[E1]", special=True, normalized=False),
    transformers.AddedToken("[/E1]", special=True, normalized=False),
    transformers.AddedToken("Covid", normalized=True),
    transformers.AddedToken("new york", normalized=True),
    transformers.AddedToken("\u4e2d\u56fd", normalized=False),
]
WITH_ADDED = [
    "the [E1] cat[/E1][E1]sat on COVID",
    "a covid\u0301 new york\u4e2d\u56fd\u4e2d",
    *NAUGHTY,
]


@pytest.mark.parametrize("kind", ["wordpiece", "albert", "xlnet"])
def test_added_tokens_travel_both_ways(kind, train_model, tmp_path):
    save_for_others(_tokenizer(kind, train_model), tmp_path / "1", "huggingface")
    config = json.dumps({"model_type": "xlnet" if kind == "xlnet" else "albert"})
    (tmp_path / "1" / "config.json").write_text(config)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "1")
    theirs.add_tokens(ADDED)
    theirs.save_pretrained(tmp_path / "2")
    vocabulary_file = {"wordpiece": "vocab.txt"}.get(kind, "spiece.model")
    shutil.copy(tmp_path / "1" / vocabulary_file, tmp_path / "2")
    ours = load_tokenizer(tmp_path / "2")
    expected = theirs(WITH_ADDED)["input_ids"]
    assert ours(WITH_ADDED, padding=False)["input_ids"] == expected
    save_for_others(ours, tmp_path / "3", "huggingface")
    shutil.copy(tmp_path / "1" / "config.json", tmp_path / "3")
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "3")
    assert again(WITH_ADDED)["input_ids"] == expected


def test_symbols_of_a_sentencepiece_model_are_no_added_tokens(train_model, tmp_path):
    model = train_model(model_type="unigram", user_defined_symbols=["(", "-"])
    (tmp_path / "spiece.model").write_bytes(model)
    official = load_tokenizer(tmp_path / "spiece.model")
    transformers.AlbertTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert ours.encode("(the cat-cat") == official.encode("(the cat-cat")
    assert not ours.added_ids
