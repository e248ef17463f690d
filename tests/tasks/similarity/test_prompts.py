"""Prompts in training and evaluation by flags."""

import json

import numpy as np
import pytest

import albert_tf
from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.tasks.similarity import run
from albert_tf.tasks.similarity.flags import SimilarityOptions
from tests.tasks.similarity.conftest import pairs
from tests.tasks.similarity.conftest import scored


def similarities(out):
    """The similarities that the command predicted."""
    lines = (out / "test_results.tsv").read_text().splitlines()
    return [float(line.split("\t")[1]) for line in lines[1:]]


@pytest.mark.slow
def test_a_prompt_is_learned_kept_and_applied(write, flags, tmp_path):
    rows = scored(6, 2)
    write("train.tsv", ("anchor", "positive"), [row[:2] for row in pairs(16, 0)])
    write("dev.tsv", ("anchor", "positive"), [row[:2] for row in pairs(4, 1)])
    write("test.tsv", ("sentence1", "sentence2", "score"), rows)
    out = flags(do_train=True, do_predict=True, train_step=1, prompt="the ")
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["prompts"] == {"default": "the "}
    embedder = albert_tf.TextEmbedder(out / "model")
    texts = [[row[place] for row in rows] for place in (0, 1)]

    def cosines(first, second):
        prompted = [
            [prompt + text for text in own]
            for prompt, own in zip((first, second), texts, strict=True)
        ]
        first, second = (embedder.encode(own, prompt="") for own in prompted)
        return np.sum(first * second, axis=1)

    np.testing.assert_allclose(similarities(out), cosines("the ", "the "), atol=1e-4)
    # Another prompt, in evaluation alone, and one for each side.
    out = flags(do_predict=True, prompt="mud is ")
    expected = cosines("mud is ", "mud is ")
    np.testing.assert_allclose(similarities(out), expected, atol=1e-4)
    two = {"prompts": {"query": "not ", "document": "very "}}
    albert_tf.TextEmbedder(out / "model", **two).save_pretrained(tmp_path / "two")
    start = {"init_checkpoint": tmp_path / "two", "from_scratch": None}
    asked = {**start, "prompt_name": "query,document", "output_dir": tmp_path / "o"}
    flags(do_predict=True, albert_config_file=None, vocab_file=None, **asked)
    expected = cosines("not ", "very ")
    found = similarities(tmp_path / "o")
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": "a", "prompt_name": "b"}, "Give either --prompt_name or --prompt"),
        ({"prompt_name": "query"}, "prompt_name='query': the model has no prompts"),
        ({"prompt_name": "a,b,c"}, "expected one name, or two"),
    ],
)
def test_flags_that_do_not_fit(write, flags, changes, message):
    write("train.tsv", ("anchor", "positive"), [row[:2] for row in pairs(2, 0)])
    write("dev.tsv", ("anchor", "positive"), [row[:2] for row in pairs(2, 1)])
    with pytest.raises(UserError, match=message):
        flags(do_train=True, **changes)


def test_prompts_of_flags():
    options = parse(SimilarityOptions, ["run", "--output_dir=o", "--prompt_name=a,b"])
    task = run.Similarity(name="custom", prompts={"a": "x ", "b": "y "})
    assert run._prompted(task, options).row_prompts == ("x ", "y ")
