"""Training vocabularies."""

import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.tokenization import load_tokenizer
from data_pipeline.train_tokenizer import TokenizerOptions
from data_pipeline.train_tokenizer import _sample
from data_pipeline.train_tokenizer import main
from data_pipeline.train_tokenizer import train_tokenizer


@pytest.fixture
def train(tmp_path, write_corpus):
    """Trains on `text`, or on a small English corpus; returns (tokenizer, report)."""

    def run(text=None, **arguments):
        path = tmp_path / "text.txt"
        if text is None:
            write_corpus(path, 50)
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        prefix = tmp_path / "out" / "v"
        values = {
            "input_file": str(path),
            "output_prefix": str(prefix),
            "vocab_size": 55,
            **arguments,
        }
        options = TokenizerOptions(**values)
        report = train_tokenizer(options)
        return load_tokenizer(f"{prefix}.model", options.do_lower_case), report

    return run


def test_official_symbols_are_pieces_of_their_own(train, tmp_path):
    tokenizer, report = train()
    rows = (tmp_path / "out" / "v.vocab").read_text("utf-8").splitlines()
    assert [row.split("\t")[0] for row in rows] == tokenizer.pieces
    assert float(rows[-1].split("\t")[1]) < 0
    assert len(checksums.read(tmp_path / "out")) == 2
    assert tokenizer.pieces[:5] == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.pieces[5:13] == ["(", ")", '"', "-", ".", "–", "£", "€"]
    assert tokenizer.tokenize('("-.–£€)')[1:] == [*'("-.–£€)']
    assert report["pieces"] == tokenizer.vocab_size == 55
    assert report["unknown_rate"] == 0
    assert report["characters_per_piece"] > 1.2


def test_chinese_coverage(train):
    text = "我们在这里。你们在那里！\n" * 30 + "罕见。\n"
    full, _ = train(text, vocab_size=26, character_coverage=1.0)
    part, report = train(text, vocab_size=24, character_coverage=0.98)
    assert full.unk_id not in full.encode("罕见")
    assert part.unk_id in part.encode("罕见")
    assert report["unknown_rate"] > 0


def test_every_line_is_drawn_equally_often(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{n}\n" for n in range(1000)))
    common = {"input_file": str(path), "output_prefix": "", "input_sentence_size": 100}
    drawn = []
    for seed in range(30):
        lines, _ = _sample(TokenizerOptions(random_seed=seed, **common))
        assert len(set(lines)) == 100
        drawn += map(int, lines)
    # Of 3,000 numbers below 1,000; their mean errs by 5.3.
    assert abs(sum(drawn) / len(drawn) - 499.5) < 25
    assert abs(sum(n < 100 for n in drawn) - 300) < 100


def test_a_byte_level_vocabulary_holds_every_byte(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat\n" * 9)
    common = {
        "input_file": str(path),
        "output_prefix": str(tmp_path / "out"),
        "model_type": "byte_bpe",
    }
    with pytest.raises(UserError, match="--vocab_size=260: .* makes 261 pieces, one"):
        train_tokenizer(TokenizerOptions(vocab_size=260, **common))
    assert train_tokenizer(TokenizerOptions(vocab_size=261, **common))["pieces"] == 261


ACCENTED = "má mà мой мои क्या कया می\u200cروم می روم\n" * 20


def test_accents_are_dropped_with_a_warning_or_kept(train, caplog):
    common = {"model_type": "char", "character_coverage": 1.0, "do_lower_case": False}
    dropping, _ = train(ACCENTED, vocab_size=28, **common)
    assert dropping.encode("má мой") == dropping.encode("mà мои")
    assert "11.1% of the characters lose an accent" in caplog.text
    assert "pass --keep_accents" in caplog.text
    caplog.clear()
    keeping, _ = train(ACCENTED, vocab_size=33, keep_accents=True, **common)
    assert "lose an accent" not in caplog.text
    for pair in [("má", "mà"), ("мой", "мои"), ("क्या", "कया")]:
        first, second = keeping.encode_batch(list(pair))
        assert first != second
        assert keeping.unk_id not in first + second


def test_joiners_become_spaces_with_a_warning_or_stay(train, caplog):
    common = {"model_type": "char", "character_coverage": 1.0, "keep_accents": True}
    spaced, _ = train(ACCENTED, vocab_size=33, **common)
    assert spaced.encode("می\u200cروم") == spaced.encode("می روم")
    assert "2.8% of the characters are joiners" in caplog.text
    assert "pass --normalization=nfkc" in caplog.text
    caplog.clear()
    for normalization in ("nfkc", "identity"):
        joined, _ = train(
            ACCENTED, vocab_size=34, normalization=normalization, **common
        )
        assert joined.encode("می\u200cروم") != joined.encode("می روم")
        composed, decomposed = joined.encode_batch(["má", "ma\u0301"])
        assert (composed == decomposed) == (normalization == "nfkc")
    assert "are joiners" not in caplog.text


def test_the_flags_of_spm_train(tmp_path, write_corpus):
    """Takes the flags of the official README, with a smaller vocabulary."""
    write_corpus(tmp_path / "all.txt", 50)
    main(
        [
            "spm_train",
            f"--input={tmp_path / 'all.txt'}",
            f"--model_prefix={tmp_path / '30k-clean'}",
            "--vocab_size=55",
            "--input_sentence_size=10000000",
            *["--pad_id=0", "--unk_id=1", "--eos_id=-1", "--bos_id=-1"],
            "--control_symbols=[CLS],[SEP],[MASK]",
            '--user_defined_symbols=(,),",-,.,–,£,€',
            "--shuffle_input_sentence=true",
            "--character_coverage=0.99995",
            "--model_type=unigram",
        ]
    )
    assert load_tokenizer(tmp_path / "30k-clean.model").vocab_size == 55


@pytest.mark.parametrize("flag", ["--pad_id=3", "--control_symbols=[CLS]"])
def test_other_special_pieces_are_refused(flag, capsys):
    with pytest.raises(SystemExit):
        main(["spm_train", "--input=a", "--model_prefix=b", flag])
    assert f"error: {flag}: this command always has" in capsys.readouterr().err
