"""albert-tf minimal-pairs, and the scores of sentences behind it."""

import gzip
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import bundle
from albert_tf.commands import minimal_pairs
from albert_tf.errors import UserError
from albert_tf.inference.loading import language_model_class
from albert_tf.inference.masked_words import pseudo_log_likelihoods
from albert_tf.inference.minimal_pairs import accuracies
from albert_tf.inference.minimal_pairs import read_pairs
from albert_tf.inference.minimal_pairs import score_pairs
from albert_tf.models.pretraining import AlbertForMaskedLM
from albert_tf.models.replaced_tokens import AlbertForReplacedTokens
from albert_tf.tokenization import load_tokenizer
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.wordpiece import WordPieceTokenizer
from albert_tf.xlnet.model import XLNetLMHeadModel
from tests.inference.conftest import shares_by_permutation
from tests.vocabularies import tie_pieces
from tests.vocabularies import wordpiece


@pytest.fixture(scope="module")
def loaded(model_dir):
    return AlbertForMaskedLM.from_pretrained(model_dir), load_tokenizer(model_dir)


def slow_scores(model, tokenizer, texts, also_hidden=lambda ids, place: ()):
    """Scores with one call for each token of each text, with all logits."""
    scores = []
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        total = 0.0
        for place in range(1, ids.shape[1] - 1):
            masked = ids.copy()
            masked[0, [place, *also_hidden(ids[0], place)]] = tokenizer.mask_id
            logits = model({"input_ids": masked})[0, place]
            total += float(tf.nn.log_softmax(logits)[ids[0, place]])
        scores.append(total)
    return scores


def words():
    pieces = ["un", "##like", "##ly", "film", "the"]
    return WordPieceTokenizer(wordpiece(pieces).encode(), True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokenizer", "texts", "continues"),
    [
        (words(), ["the unlikely film unlikely", "unlikely"], lambda p: p[:2] == "##"),
        (SentencePieceTokenizer(tie_pieces()), ["abc fade", "abc"], str.isalnum),
    ],
    ids=["WordPiece", "SentencePiece"],
)
def test_scores_equal_one_call_for_each_token(tiny_config, tokenizer, texts, continues):
    keras.utils.set_random_seed(1)  # with some weights the rest hardly matters
    sizes = {"vocab_size": tokenizer.vocab_size, "num_hidden_layers": 1}
    model = AlbertForMaskedLM(tiny_config(**sizes))

    def rest(ids, place):
        pieces = [tokenizer.pieces[index] for index in ids]
        later = range(place + 1, len(ids) - 1)  # [SEP] belongs to no word
        ends = (i for i in later if not continues(pieces[i]))
        return range(place + 1, next(ends, len(ids) - 1))

    given = model, tokenizer, [*texts, ""]
    plain = pseudo_log_likelihoods(*given, batch_size=2)
    np.testing.assert_allclose(plain, slow_scores(*given), rtol=1e-5)
    # Whole words hide the rest of the word, too.
    found = pseudo_log_likelihoods(*given, whole_words=True)
    np.testing.assert_allclose(found, slow_scores(*given, rest), rtol=1e-5)
    assert np.abs(found - plain)[:2].min() > 1e-4
    assert (found < 0).tolist() == [True, True, False]


@pytest.mark.slow
def test_xlnet_is_asked_by_permutation(xlnet_config, xlnet_tokenizer):
    model = XLNetLMHeadModel(xlnet_config(initializer_range=0.5))
    text = "the film was bad"
    row = xlnet_tokenizer(text)
    shares = [
        shares_by_permutation(model, row, [place])[0, index]
        for place, index in enumerate(row["input_ids"][0, :-2])
    ]
    found = pseudo_log_likelihoods(model, xlnet_tokenizer, [text])
    np.testing.assert_allclose(found, [np.log(shares).sum()], rtol=1e-5)


@pytest.mark.slow
def test_a_discriminator_is_asked_once(tiny_config, tmp_path):
    tokenizer = words()
    sizes = {"vocab_size": tokenizer.vocab_size, "num_hidden_layers": 1}
    model = AlbertForReplacedTokens(tiny_config(**sizes))
    texts = ["the unlikely film", "film", ""]
    found = pseudo_log_likelihoods(model, tokenizer, texts, batch_size=2)
    for text, score in zip(texts, found, strict=True):
        logits = np.array(model(tokenizer(text)), np.float64)[0, 1:-1]
        expected = -np.log1p(np.exp(logits)).sum()
        np.testing.assert_allclose(score, expected, atol=1e-6)
    model.save_pretrained(tmp_path, tokenizer)
    assert language_model_class(bundle.open(tmp_path)) is AlbertForReplacedTokens


@pytest.mark.slow
def test_texts_that_cannot_be_scored(loaded):
    model, tokenizer = loaded
    with pytest.raises(UserError, match="Text 2 has 17 tokens.*shorten"):
        pseudo_log_likelihoods(model, tokenizer, ["film " * 14, "film " * 15])
    model = AlbertForMaskedLM(model.config)
    model.set_weights([weight * np.nan for weight in model.get_weights()])
    with pytest.raises(UserError, match="answers NaN to input 1"):
        pseudo_log_likelihoods(model, tokenizer, ["film"])


def pair(good, bad, **groups):
    return {"sentence_good": good, "sentence_bad": bad, **groups}


@pytest.fixture
def folder(tmp_path):
    """Two sets, one of them compressed and in BLiMP's words."""
    folder = tmp_path / "pairs"
    folder.mkdir()
    groups = {"UID": "passive", "linguistics_term": "s-selection"}
    rows = [
        pair(good, bad, **groups, field="syntax/semantics")
        for good, bad in (("the film", "film the"), ("is good", "good is"))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "own.tsv").write_text("sentence_bad\tsentence_good\nbad .\t. bad\n")
    (folder / "README.md").write_text("no table")
    return folder


def test_accuracies_are_means_of_sets(folder, tmp_path):
    pairs = read_pairs(folder)
    found = [(p["good"], p["bad"]) for p in pairs]
    expected = [("the film", "film the"), ("is good", "good is"), (". bad", "bad .")]
    assert found == expected
    names = {"UID": "passive", "linguistics_term": "argument_structure"}
    assert pairs[0]["groups"] == {**names, "field": "syntax_semantics"}
    assert pairs[2]["groups"] == {"UID": "own", "linguistics_term": None, "field": None}
    assert len(read_pairs(folder, at_most=1)) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no table"):
        read_pairs(tmp_path / "empty")
    assert accuracies(pairs, [-1.0, -2.0, -3.0], [-1.5, -2.0, -4.0]) == {
        "overall": 0.75,
        "UID": {"own": 1.0, "passive": 0.5},  # a tie is wrong
        "linguistics_term": {"argument_structure": 0.5},
        "field": {"syntax_semantics": 0.5},
    }


_HEAD = "sentence_good\tsentence_bad"
_EMPTY = "line 2: the tokenizer finds no token in .* column sentence_"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{_HEAD}\na\n", "line 2: 1 fields, but the header has 2"),
        (f"{_HEAD}\n", "holds no pairs"),
        (f"{_HEAD}\n \tb\n", "no sentence in the column sentence_good; correct"),
        (f"{_HEAD}\tsentence_good \na\tb\tc\n", "pairs.tsv has 2 columns 'sentence_g"),
        (f"{_HEAD}\tUID\na\tb\tx\na\tb\t\n", "line 3: no name of a set in the column"),
        (f"{_HEAD}\na\tb\udcff\n", "line 2: a text is not UTF-8; correct the row"),
        (f"{_HEAD}\n\u200b\tbad\n", f"{_EMPTY}good"),
        (f"{_HEAD}\nfilm\t\u200b\n", f"{_EMPTY}bad"),
    ],
)
def test_bad_tables(loaded, tmp_path, content, message):
    path = tmp_path / "pairs.tsv"
    path.write_text(content, "utf-8", "surrogateescape")
    with pytest.raises(UserError, match=message):
        score_pairs(*loaded, read_pairs(path))


def test_names_of_groups_are_texts(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [pair("a", "b", UID=3, field=None), pair("a", "b", UID="3", field="")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = accuracies(read_pairs(path), [1.0, 1.0], [0.0, 2.0])
    assert (found["UID"], found["field"]) == ({"3": 0.5}, {})
    for line, message in (
        (json.dumps(pair("a", "b", field=["a"])), r"\['a'\] in the column field is no"),
        ("{", "line 1: the line is not valid JSON.*; correct the row"),
    ):
        path.write_text(line)
        with pytest.raises(UserError, match=message):
            read_pairs(path)


@pytest.mark.slow
def test_the_command(model_dir, loaded, folder, tmp_path, capsys):
    written = tmp_path / "scores.json"
    flags = [f"--model_dir={model_dir}", f"--input_file={folder}"]
    minimal_pairs.main(["minimal_pairs", *flags, f"--output_file={written}"])
    printed = capsys.readouterr().out
    found = json.loads(written.read_text())
    assert f"overall = {100 * found['overall']:.2f}" in printed
    assert f"{100 * found['UID']['own']:5.1f}  own" in printed
    row = found["pairs"][0]
    assert list(row) == ["good", "bad", "groups", "good_score", "bad_score"]
    expected = slow_scores(*loaded, [row["good"], row["bad"]])
    scores = [row["good_score"], row["bad_score"]]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    minimal_pairs.main(["minimal_pairs", *flags, "--pairs_per_set=1"])
    first = 100.0 * (expected[0] > expected[1])
    assert f"{first:5.1f}  passive" in capsys.readouterr().out


def test_whole_words_by_flag(model_dir, folder, monkeypatch, capsys):
    asked = []

    def score(model, tokenizer, pairs, whole_words, batch_size):
        asked.append((whole_words, batch_size))
        return np.zeros((len(pairs), 2))

    monkeypatch.setattr("albert_tf.inference.minimal_pairs.score_pairs", score)
    flags = [f"--model_dir={model_dir}", f"--input_file={folder}", "--batch_size=3"]
    for flag in ("--whole_words", "--nowhole_words"):
        minimal_pairs.main(["minimal_pairs", *flags, flag])
    assert asked == [(True, 3), (False, 3)]
