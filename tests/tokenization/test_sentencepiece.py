"""Additions of SentencePieceTokenizer to SentencePiece, and models that are damaged."""

import json
import math
import random
from functools import partial

import pytest
import sentencepiece

from albert_tf.errors import UserError
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization import sentencepiece_file
from albert_tf.tokenization.character_table import self_preparing
from albert_tf.tokenization.sentencepiece import KEEPS_ACCENTS
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.sentencepiece_file import ModelProto
from albert_tf.tokenization.tokenizer import TextRules
from tests.tokenization.test_their_files import HOSTILE
from tests.vocabularies import tie_pieces

PAIRS = [
    *[("má", "mà"), ("かぎ", "かき"), ("क्या", "कया"), ("мой", "мои")],
    ("schön", "schon"),
]


@pytest.fixture(scope="module")
def accents(train_model):
    """A model whose pieces have accents, vowel signs and other combining characters."""
    texts = [word for pair in PAIRS for word in pair]
    changes = {"character_coverage": 1.0, "vocab_size": 100}
    return train_model(sentence_iterator=iter(texts), **changes)


def equal_pairs(tokenizer):
    return [a for a, b in PAIRS if tokenizer.encode(a) == tokenizer.encode(b)]


def test_the_vocabulary_remembers_that_accents_are_kept(accents, tmp_path):
    assert len(equal_pairs(SentencePieceTokenizer(accents))) == len(PAIRS)
    (tmp_path / "v.model").write_bytes(accents + KEEPS_ACCENTS)
    tokenizer = load_tokenizer(tmp_path / "v.model", do_lower_case=False)
    assert equal_pairs(tokenizer) == []
    assert tokenizer.unk_id not in tokenizer.encode("má schön क्या")
    (tmp_path / "v.model").unlink()
    config = tmp_path / "tokenizer_config.json"  # which wins over the vocabulary
    for ending, keeps in [(b"", True), (KEEPS_ACCENTS, False)]:
        (tmp_path / "spiece.model").write_bytes(accents + ending)
        config.write_text(json.dumps({"keep_accents": keeps}))
        assert load_tokenizer(tmp_path).keep_accents == keeps


def test_places_of_kept_accents(accents):
    rules = TextRules(keep_accents=True, joins_quotes=True)
    tokenizer = SentencePieceTokenizer(accents, True, rules=rules)
    text = "m''İ a\u0301``n"
    spans = tokenizer.encode_with_offsets(text)[1]
    parts = [text[start:end] for start, end in spans]
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert "a\u0301" in parts or "a\u0301``" in parts


def test_what_is_stripped_counts(accents):
    text = "má क्या が ma\u0301 abc"
    plain, kept, same = (
        SentencePieceTokenizer(accents, rules=TextRules(**rules))
        for rules in ({}, {"keep_accents": True}, {"keep_accents": False})
    )
    assert [t.count_stripped(text) for t in (plain, kept)] == [4, 0]
    assert plain.fingerprint() == same.fingerprint() != kept.fingerprint()


_TEXTS = [text for text in HOSTILE if "\u03a3" not in text]
_TEXTS += ["a \u2581b \u2581\u2581 c"]
_TEXTS += ["\xa8 a\xa8b \u1112\u1161\u11ab \u09c7\u09be", "A\u0302\u0301 e\u0302\u0301"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lowers", "rules", "table"),
    [
        (True, TextRules(), "nfkc"),
        (False, TextRules(joins_quotes=True), "nmt_nfkc"),
        *(
            pytest.param(*row, "nmt_nfkc", marks=pytest.mark.nightly)
            for row in (
                (True, TextRules()),
                (False, TextRules(keep_accents=True)),
                (True, TextRules(as_tokenizers=True)),
            )
        ),
    ],
)
def test_a_model_prepares_texts_by_its_own_table(lowers, rules, table, train_model):
    more = {"model_type": "unigram", "vocab_size": 70}
    model = train_model(normalization_rule_name=table, **more)
    tokenizer = SentencePieceTokenizer(model, lowers, rules=rules)
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(self_preparing(tokenizer))
    for text in _TEXTS:
        expected = tokenizer.normalized(tokenizer.prepare(text))
        assert processor.Normalize(text).removeprefix("\u2581") == expected


def test_raw_text_never_gives_special_ids(small, train_model):
    symbols = ["[CLS]", "[SEP]", "[MASK]", "<pad>x"]
    defined = train_model(control_symbols=[], user_defined_symbols=symbols)
    text = "[CLS] a [SEP] b [MASK] <pad> <unk>"
    for own in (small, SentencePieceTokenizer(defined, do_lower_case=False)):
        ids = own.encode(text)
        assert not {own.pad_id, own.cls_id, own.sep_id, own.mask_id} & set(ids)
        assert ids == own.encode_with_offsets(text)[0]


def test_a_number_within_a_word_is_divided_from_its_comma():
    """The library puts a mark before each part, which the middle of a word lacks."""
    model = ModelProto.FromString(tie_pieces())
    pieces = [piece.piece for piece in model.pieces]
    for piece in ("a0,", "\u25812,", "3,", ",", "\u25813", "\u25814567,"):
        model.pieces.add(piece=piece, score=-0.5)
    tokenizer = SentencePieceTokenizer(model.SerializeToString())
    assert len(tokenizer.pieces) == len(pieces) + 6
    for text, expected in (
        ("ba0, 2, b3,", "\u2581 b a0 , \u2581 2 , \u2581 b 3 ,"),
        ("13,", "\u2581 1 3 ,"),
        ("2, 4567, 2, b", "\u2581 2 , \u2581 45 67 , \u2581 2 , \u2581 b"),
    ):
        assert tokenizer.tokenize(text) == expected.split()
        assert tokenizer.encode(text) == tokenizer.encode_with_offsets(text)[0]
        ids = tokenizer.convert_tokens_to_ids(expected.split())
        assert tokenizer.encode(text) == ids


def _table(units, texts=b"\0"):
    """Serializes a table of characters whose first units are given."""
    units = [*units, *[0] * (256 - len(units))]
    array = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(array).to_bytes(4, "little") + array + texts


def _with_table(model, table):
    model.normalizer_spec.precompiled_charsmap = table


def _with_ninth(model, **fields):
    for name, value in fields.items():
        setattr(model.pieces[9], name, value)


def _letter(character, offset, is_key=False):
    return offset << 10 | is_key << 8 | ord(character)


# Where a unit is, xor its offset, xor a letter, the letter comes to lie.
_CHAIN = [1 << 10, *[0] * 95, _letter("a", 96 ^ 1 ^ 0, is_key=True)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (partial(_with_ninth, score=math.nan), "the piece '3' has the score nan"),
        (partial(_with_ninth, score=math.inf), "the score inf; get or train"),
        (partial(_with_ninth, piece="a\0b"), "is no piece of a text"),
        (partial(_with_ninth, piece="a" * 8000), "is no piece of a text"),
        (
            lambda m: [m.pieces.add(piece="z" * k, type=4) for k in range(1, 70)],
            "65 user-defined pieces begin each other",
        ),
        *(
            (partial(_with_table, table=table), "its table of characters .* leads now")
            for table in (
                b"\0",
                _table([1 << 10])[:-1],
                _table([1 << 10], b"a"),
                (999).to_bytes(4, "little") + bytes(1200),
                _table([1 << 10, _letter("a", 1 << 20)]),
                _table([1 << 18]),
                _table(_CHAIN),
            )
        ),
    ],
)
def test_a_damaged_model_is_refused(change, message):
    model = ModelProto.FromString(tie_pieces())
    change(model)
    with pytest.raises(UserError, match=f"x.model is damaged: .*{message}"):
        SentencePieceTokenizer(model.SerializeToString(), source="x.model")


def _nested(letters, keys):
    """A table of one letter again and again, whose first runs are keys."""
    units = {0: _letter("\0", 1) | 0x200}  # whose offset is shifted
    for place in range(0x161, 0x161 + letters):
        following = (place + 1) ^ ord("a")
        is_key = place < 0x161 + keys
        units[place] = _letter("a", place ^ following, is_key)
        units[following] = 1 << 31  # a value
    return _table([units.get(place, 0) for place in range(1024)])


def test_what_is_no_damage():
    """Pieces and rules of as many letters as are allowed."""
    model = ModelProto.FromString(tie_pieces())
    model.pieces.add(piece="a" * 7999, score=-99)
    for size in range(1, 65):
        model.pieces.add(piece="z" * size, type=sentencepiece_file.USER_DEFINED)
    for piece in ("y", *map("y{}".format, range(70))):  # of which one begins the others
        model.pieces.add(piece=piece, type=sentencepiece_file.USER_DEFINED)
    model.normalizer_spec.precompiled_charsmap = _nested(40, 32)
    assert sentencepiece_file._damage(model) is None
    model.normalizer_spec.precompiled_charsmap = _nested(40, 33)
    assert "leads nowhere" in sentencepiece_file._damage(model)
    for first in (1 << 10, _letter("a", 1)):  # the first unit is no letter of a key
        model.normalizer_spec.precompiled_charsmap = _table([first])
        assert sentencepiece_file._damage(model) is None


def test_why_no_model_is_trained():
    for said, reason in (("a.cc(9) [x[0] < 1] Too\n few.", "Too few."), ("no", "no")):
        assert sentencepiece_file.reason_of(RuntimeError(said)) == reason


def test_flipped_bits_end_no_process(train_model):
    data = train_model(model_type="unigram", vocab_size=60)
    rng = random.Random(0)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 3, 30])):
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            tokenizer = SentencePieceTokenizer(bytes(damaged))
            tokenizer.encode_with_offsets("the cat \ufb01 \u3000 \xe9\u0301 2000, " * 9)
        except UserError:
            pass
