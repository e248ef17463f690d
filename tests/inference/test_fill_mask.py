"""albert-tf fill-mask, through its entry."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.commands import fill_mask
from albert_tf.errors import UserError
from albert_tf.inference.masked_words import fill_masks
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer
from tests.inference.conftest import ALONE
from tests.inference.conftest import shares_by_permutation


@pytest.fixture
def run(model_dir, capsys):

    def run_command(*arguments):
        fill_mask.main(["fill_mask", f"--model_dir={model_dir}", *map(str, arguments)])
        return capsys.readouterr().out

    return run_command


def shares(model_dir, ids, segments=None):
    """Probabilities `[tokens, vocabulary]` of the pretraining model."""
    model = AlbertForPreTraining.from_pretrained(model_dir)
    tokenizer = load_tokenizer(model_dir)
    ids = tokenizer.convert_tokens_to_ids(ids)
    features = {
        "input_ids": np.array([ids]),
        "segment_ids": np.array([segments or [0] * len(ids)]),
        "masked_lm_positions": np.arange(len(ids))[None],
    }
    logits = model(features)["masked_lm_logits"][0, :, : tokenizer.vocab_size]
    return tf.nn.softmax(logits).numpy(), tokenizer.pieces


@pytest.mark.slow
def test_the_best_tokens_of_each_mask(run, model_dir):
    printed = run("--top_k=2", "the [MASK] is [MASK] .", "[MASK] film")
    first, second = printed.rstrip("\n").split("\n\n")
    tokens = ["[CLS]", "the", "[MASK]", "is", "[MASK]", ".", "[SEP]"]
    expected, pieces = shares(model_dir, tokens)
    lines = ["the [MASK] is [MASK] ."]
    for number, place in ((1, 2), (2, 4)):
        lines.append(f"mask {number}:")
        for index in np.argsort(-expected[place])[:2]:
            lines.append(f"  {expected[place, index]:.4f}  {pieces[index]}")
    assert first.split("\n") == lines
    assert second.startswith("[MASK] film\n  0.")
    assert "mask 1" not in second
    assert len(run("--top_k=13", "[MASK]").splitlines()) == 14
    # A served text has guesses for its own masks alone.
    predictor = albert_tf.Predictor(model_dir, task="masked_lm")
    texts = ["the [MASK] is [MASK] .", "[MASK] film"]
    found = [answer["masks"] for answer in predictor(texts)]
    assert [*map(len, found)] == [2, 1]
    best = expected[2].argmax()
    assert (found[0][0][0]["token_id"], found[0][0][0]["token"]) == (best, pieces[best])
    assert predictor.arrays(texts)["token_ids"][1, 1].tolist() == [0] * 5
    with pytest.raises(UserError, match="top_k=0: expected 1 to 13"):
        fill_masks(None, load_tokenizer(model_dir), ["[MASK]"], top_k=0)


@pytest.mark.slow
def test_a_file_of_pairs(run, model_dir, tmp_path):
    texts, answers = tmp_path / "texts.txt", tmp_path / "answers.jsonl"
    texts.write_text("the film\tis [MASK] .\nfilm\t[MASK] [MASK]\n")
    flags = (f"--input_file={texts}", "--output_file", answers, "--batch_size=1")
    assert run(*flags) == ""
    first, second = map(json.loads, answers.read_text().splitlines())
    tokens = ["[CLS]", "the", "film", "[SEP]", "is", "[MASK]", ".", "[SEP]"]
    expected, pieces = shares(model_dir, tokens, [0, 0, 0, 0, 1, 1, 1, 1])
    assert (first["text"], first["text_pair"]) == ("the film", "is [MASK] .")
    best = first["masks"][0][0]
    assert best["token_id"] == np.argmax(expected[5])
    assert best["token"] == pieces[best["token_id"]]
    assert best["probability"] == pytest.approx(expected[5].max(), abs=1e-6)
    assert [len(mask) for mask in second["masks"]] == [5, 5]


@pytest.mark.slow
def test_xlnet_is_asked_by_permutation(xlnet_dir, xlnet_tokenizer, tmp_path):
    texts, answers = tmp_path / "texts.txt", tmp_path / "guesses.jsonl"
    texts.write_text("<mask> is very good\nit was a bad <mask> and <mask>\n")
    flags = [f"--input_file={texts}", f"--output_file={answers}", "--top_k=3"]
    fill_mask.main(["fill_mask", f"--model_dir={xlnet_dir}", *flags])
    predictor = albert_tf.Predictor(xlnet_dir)
    model = albert_tf.XLNetLMHeadModel.from_pretrained(xlnet_dir, **ALONE)
    lines = texts.read_text().splitlines(), answers.read_text().splitlines()
    for text, line in zip(*lines, strict=True):
        row = xlnet_tokenizer(text, special_tokens_in_text=True)
        places = np.flatnonzero(row["input_ids"][0] == xlnet_tokenizer.mask_id)
        expected = shares_by_permutation(model, row, places)
        served = predictor(text.replace("<mask>", "[MASK]"))["masks"]
        for found in (json.loads(line)["masks"], served):
            for guesses, own in zip(found, expected, strict=True):
                best = np.argsort(-own)[: len(guesses)].tolist()
                assert [guess["token_id"] for guess in guesses] == best
                given = [guess["probability"] for guess in guesses]
                np.testing.assert_allclose(given, own[best], atol=1e-6)
    pretrained = albert_tf.XLNetLMHeadModel.from_pretrained(xlnet_dir)
    with pytest.raises(UserError, match=r"bi_data and would read half .* bi_data=Fals"):
        albert_tf.Predictor(pretrained, xlnet_tokenizer)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["the " * 13 + "[MASK]", "the " * 14 + "[MASK]"],
            "Text 2 has 17 tokens, .* only 16 pos",
        ),
        (["[MASK]", "--top_k=14"], "top_k=14: expected 1 to 13"),
    ],
)
def test_refused(model_dir, arguments, message, capsys):
    with pytest.raises(SystemExit):
        fill_mask.main(["fill_mask", f"--model_dir={model_dir}", *arguments])
    assert re.search(f"^error: .*{message}", capsys.readouterr().err, re.MULTILINE)
