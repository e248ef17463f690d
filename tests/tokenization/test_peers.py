"""Tokenizer files: transformers reads ours, and we read theirs."""

import json
import shutil
import unicodedata

import pytest
import tokenizers
import transformers
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.huggingface import save_for_others
from albert_tf.tokenization.normalization import is_chinese
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from tests.vocabularies import wordpiece as vocabulary
from tools.fuzz.inputs import CHARACTERS
from tools.fuzz.inputs import TEXTS as ANY_TEXTS

TEXTS = [
    "The cat sat on the mat",
    "a ``quick'' fox, isn't it? $3",
    "caf\u00e9 re\u0301sum\u00e9 \ufb01ne \u216b",
    "\u4e2d\u56fd the \u3042 \U0001f600 dog\u00a0barked\u2028now",
    " \t spaces\u3000everywhere \n",
    "",
    "\u0130stanbul \u1e9e \ufb03",
]
PIECES = "the cat sat on a fox ##s ##t c ##a ##f ##e do ##g , ' ` ? $ 3 \u4e2d \u56fd"


def _tokenizer(kind, do_lower_case, train_model):
    if kind == "wordpiece":
        pieces = [*PIECES.split(), "T", "##h", "a", "", "fox"]
        return WordPieceTokenizer(vocabulary(pieces).encode(), do_lower_case)
    changes = {}
    if kind == "xlnet":
        changes = {
            "pad_id": -1,
            "unk_id": 0,
            "control_symbols": ["<cls>", "<sep>", "<pad>", "<mask>"],
        }
    model = train_model(model_type="unigram", vocab_size=70, **changes)
    return SentencePieceTokenizer(model, do_lower_case)


@pytest.mark.parametrize(
    ("kind", "do_lower_case"), [("wordpiece", True), ("albert", False), ("xlnet", True)]
)
def test_transformers_reads_what_is_written(kind, do_lower_case, train_model, tmp_path):
    tokenizer = _tokenizer(kind, do_lower_case, train_model)
    save_for_others(tokenizer, tmp_path, "huggingface")
    model_type = "xlnet" if kind == "xlnet" else "albert"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    texts = TEXTS
    if kind == "albert":  # theirs joins quotes: it cannot be told not to
        texts = [text.replace("``", '"').replace("''", '"') for text in TEXTS]
    expected = theirs(texts, texts[::-1], add_special_tokens=True)
    found = tokenizer(texts, texts[::-1], padding=False)
    assert found["input_ids"] == expected["input_ids"]
    assert found["segment_ids"] == expected["token_type_ids"]


ACCENTED = ["má mà ma", "мой мои всё", "क्या कया", "かぎ かき パンダ", "schön İ Å"]


@pytest.mark.parametrize(("do_lower_case", "keeps"), [(True, True), (False, False)])
def test_transformers_keeps_what_is_kept_here(
    do_lower_case, keeps, train_model, tmp_path
):
    model = train_model(
        sentence_iterator=iter(ACCENTED * 9), model_type="unigram", vocab_size=60
    )
    rules = TextRules(keep_accents=keeps)
    tokenizer = SentencePieceTokenizer(model, do_lower_case, rules=rules)
    save_for_others(tokenizer, tmp_path, "huggingface")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "albert"}))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    texts = [*ACCENTED, "  ma\u0301  mo\u0438\u0306 é", "ﬁ ½ パ"]
    if not keeps:  # transformers 5 strips signs that are no combining characters, too
        texts.remove("क्या कया")
    assert tokenizer(texts, padding=False)["input_ids"] == theirs(texts)["input_ids"]


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
    text=ANY_TEXTS.map(lambda text: "".join(filter(_is_read_alike, text))),
    pieces=st.lists(STEMS | STEMS.map("##{}".format) | CHARACTERS, max_size=12),
    do_lower_case=st.booleans(),
    strips=st.sampled_from([None, True, False]),
)
def test_any_words_are_those_of_tokenizers(text, pieces, do_lower_case, strips):
    data = vocabulary(pieces).encode()
    ours = WordPieceTokenizer(
        data, do_lower_case, rules=TextRules(strip_accents=strips)
    )
    ids = {piece: index for index, piece in enumerate(ours.pieces)}
    theirs = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            ids, unk_token="[UNK]", max_input_chars_per_word=200
        )
    )
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
    *TEXTS,
]


@pytest.mark.parametrize(
    ("kind", "do_lower_case"), [("wordpiece", True), ("albert", False), ("xlnet", True)]
)
def test_added_tokens_travel_both_ways(kind, do_lower_case, train_model, tmp_path):
    tokenizer = _tokenizer(kind, do_lower_case, train_model)
    save_for_others(tokenizer, tmp_path / "1", "huggingface")
    model_type = "xlnet" if kind == "xlnet" else "albert"
    (tmp_path / "1" / "config.json").write_text(json.dumps({"model_type": model_type}))
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
    theirs = transformers.AlbertTokenizer.from_pretrained(tmp_path)
    theirs.save_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert ours.encode("(the cat-cat") == official.encode("(the cat-cat")
    assert not ours.added_ids
