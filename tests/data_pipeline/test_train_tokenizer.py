"""Training vocabularies."""

import collections
import contextlib
import dataclasses

import numpy as np
import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.segmentation import scores as scores_of
from albert_tf.tokenization.sentencepiece_file import ModelProto
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import _check_extension
from data_pipeline.train_tokenizer import _sample
from data_pipeline.train_tokenizer import main
from data_pipeline.train_tokenizer import train_tokenizer

_SYMBOLS = ["(", ")", '"', "-", ".", "–", "£", "€"]
_NO_FILES = {"input_file": "", "output_prefix": ""}
EVERY_CHARACTER = {"model_type": "char", "character_coverage": 1.0}
ACCENTED = "má mà мой мои क्या कया می\u200cروم می روم\n" * 20


@pytest.fixture
def train(tmp_path, corpus_file):
    """Trains on `text`, or on the corpus; returns (tokenizer, report)."""

    def run(text=None, **arguments):
        path = tmp_path / "text.txt"
        path.write_text(text or corpus_file.read_text(), "utf-8")
        prefix = tmp_path / "out" / "v"
        named = {"input_file": str(path), "output_prefix": str(prefix)}
        options = TokenizerOptions(**{**named, "vocab_size": 55, **arguments})
        report = train_tokenizer(options)
        return load_tokenizer(f"{prefix}.model", options.do_lower_case), report

    return run


def test_official_symbols_are_pieces_of_their_own(train, tmp_path):
    tokenizer, report = train(like="official")
    rows = (tmp_path / "out" / "v.vocab").read_text("utf-8").splitlines()
    assert [row.split("\t")[0] for row in rows] == tokenizer.pieces
    assert float(rows[-1].split("\t")[1]) < 0
    assert len(checksums.read(tmp_path / "out")) == 2
    assert tokenizer.pieces[:5] == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.pieces[5:13] == _SYMBOLS
    assert train(user_defined_symbols="official")[0].pieces[5:13] == _SYMBOLS
    plain, _ = train("(cat) (dog)\n" * 9, vocab_size=15)
    assert "\u2581(" in plain.pieces
    assert tokenizer.tokenize('("-.–£€)')[1:] == [*'("-.–£€)']
    assert report["pieces"] == tokenizer.vocab_size == 55
    assert report["unknown_rate"] == 0
    assert report["characters_per_piece"] > 1.2


def test_chinese_coverage(train, caplog):
    text = "我们在这里。你们在那里！\n" * 30 + "罕见。\n"
    full, _ = train(text, vocab_size=18, character_coverage=1.0)
    with caplog.at_level("INFO", "absl"):
        part, report = train(text, vocab_size=16, character_coverage=0.98)
    assert full.unk_id not in full.encode("罕见")
    assert part.unk_id in part.encode("罕见")
    ids = np.concatenate(part.encode_batch(text.splitlines()))
    assert report == {
        **{"pieces": 16, "lines": 31},
        "unknown_rate": (ids == part.unk_id).mean(),
        "characters_per_piece": (len(text) - 31) / len(ids),
    }
    assert f"; {(len(text) - 31) / len(ids):.2f} characters a piece, " in caplog.text
    assert f", {(ids == part.unk_id).mean():.4%} unknown" in caplog.text


def test_every_line_is_drawn_equally_often(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a\nb\nc\n")

    def sample(size, seed=0):
        named = {"input_file": str(path), "output_prefix": "", "random_seed": seed}
        lines, _ = _sample(TokenizerOptions(**named, input_sentence_size=size))
        return lines

    assert sample(0) == sample(3) == sample(4) == ["a", "b", "c"]
    assert len({*sample(2)}) == 2
    drawn = collections.Counter(line for seed in range(400) for line in sample(1, seed))
    # Each is to be drawn 133 times, which errs by 9.
    assert len(drawn) == 3 and all(110 < count < 156 for count in drawn.values())


def test_a_byte_level_vocabulary_holds_every_byte(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat\n" * 9)
    named = {"input_file": str(path), "output_prefix": str(tmp_path / "out")}
    options = TokenizerOptions(**named, model_type="byte_bpe", vocab_size=261)
    found = {"characters_per_piece": 1.0, "unknown_rate": 0.0}
    assert train_tokenizer(options) == {"pieces": 261, "lines": 9, **found}
    with pytest.raises(UserError, match="--vocab_size=260: .* makes 261 pieces, one"):
        train_tokenizer(dataclasses.replace(options, vocab_size=260))


def test_a_new_vocabulary_keeps_what_its_language_needs(train, caplog):
    tokenizer, _ = train(ACCENTED, vocab_size=26, **EVERY_CHARACTER)
    pairs = [("má", "mà"), ("мой", "мои"), ("क्या", "कया"), ("می\u200cروم", "می روم")]
    for pair in pairs:
        first, second = tokenizer.encode_batch(list(pair))
        assert first != second
        assert tokenizer.unk_id not in first + second
    assert tokenizer.keep_accents
    assert "of the characters" not in caplog.text
    # Zero-width and no-break spaces, tabs and marks of direction are spaces.
    spaced = tokenizer.encode_batch([f"má{c}mà" for c in " \u200b\xa0\t\ufeff\u200e"])
    assert all(ids == spaced[0] for ids in spaced)
    assert tokenizer.encode("ma\u0301\x01") == tokenizer.encode("má")


def test_no_library_can_cut_a_new_vocabulary_otherwise(train):
    text = "7, 7,5 7,50 7,8 7,80 17, 17,5 cats...\n" * 9
    tokenizer, _ = train(text, vocab_size=18)
    assert not any(tokenizer.is_divided(i) for i in range(5, 18))
    scores = scores_of(ModelProto.FromString(tokenizer.file_bytes))
    assert all(score * 1024 % 1 == 0 for score in scores)
    assert -20 < min(scores) < -1


def test_like_official_drops_accents_and_typed_flags_beat_it(train, caplog):
    official = {**EVERY_CHARACTER, "like": "official"}
    dropping, _ = train(ACCENTED, vocab_size=28, **official)
    assert dropping.encode("má мой") == dropping.encode("mà мои")
    assert "11.1% of the characters lose an accent" in caplog.text
    assert "pass --keep_accents" in caplog.text
    caplog.clear()
    spaced, _ = train(ACCENTED, vocab_size=33, keep_accents=True, **official)
    assert "lose an accent" not in caplog.text
    assert spaced.encode("má") != spaced.encode("mà")
    assert spaced.encode("می\u200cروم") == spaced.encode("می روم")
    assert "2.8% of the characters are joiners" in caplog.text
    assert "pass --normalization=nmt_nfkc_joiners" in caplog.text
    plain, _ = train(ACCENTED, vocab_size=20, user_defined_symbols="", **official)
    assert "(" not in plain.pieces


def test_other_normalizations(train, caplog):
    for normalization in ("nfkc", "identity"):
        joined, _ = train(
            ACCENTED, vocab_size=26, normalization=normalization, **EVERY_CHARACTER
        )
        assert joined.encode("می\u200cروم") != joined.encode("می روم")
        composed, decomposed = joined.encode_batch(["má", "ma\u0301"])
        assert (composed == decomposed) == (normalization == "nfkc")
    assert "are joiners" not in caplog.text


@pytest.mark.parametrize(
    "flags",
    [
        {"vocab_size": 9},
        {"model_type": "char"},
        {"do_lower_case": False},
        {"like": "official"},
        {"keep_accents": True},
        {"normalization": "nfkc"},
        {"user_defined_symbols": "a"},
        {"pieces": 5},
    ],
)
def test_flags_of_a_new_vocabulary_and_of_an_old_one(flags):
    """New pieces alone have a number; the old vocabulary decides the rest."""
    ((name, value),) = flags.items()
    message = f"--{name}={value} adds pieces to" if name == "pieces" else f"--{name}: w"
    for extend in ("x", None):
        options = TokenizerOptions(**_NO_FILES, extend=extend, **flags)
        is_refused = (extend is None) == (name == "pieces")
        refused = pytest.raises(UserError, match=message) if is_refused else None
        with refused or contextlib.nullcontext():
            _check_extension(options)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, "ab é"),
        ({"do_lower_case": False}, "Ab É"),
        ({"like": "official"}, "ab e"),
        ({"extend": "x"}, "Ab  É"),
        ({"model_type": "byte_bpe"}, "Ab  É"),
    ],
)
def test_text_is_prepared_as_the_vocabulary_reads_it(flags, expected):
    assert TokenizerOptions(**_NO_FILES, **flags).prepared("Ab  É") == expected


def test_the_flags_of_spm_train(tmp_path, corpus_file):
    """Takes the flags of the official README, with a smaller vocabulary."""
    for given, symbols in (
        ('a,"b,c","""",d', ["a", "b,c", '"', "d"]),
        ('",",<x>', [",", "<x>"]),
    ):
        options = TokenizerOptions(**_NO_FILES, user_defined_symbols=given)
        assert options.symbols() == symbols
    command = f"""spm_train --input={corpus_file} --model_prefix={tmp_path}/30k-clean
    --vocab_size=55 --input_sentence_size=10000000 --pad_id=0 --unk_id=1 --eos_id=-1
    --bos_id=-1 --control_symbols=[CLS],[SEP],[MASK]
    --user_defined_symbols=(,),",-,.,–,£,€ --shuffle_input_sentence=true
    --character_coverage=0.99995 --model_type=unigram""".split()
    main(command)
    tokenizer = load_tokenizer(tmp_path / "30k-clean.model")
    assert tokenizer.pieces[5:13] == _SYMBOLS
