"""albert-tf mine: hard negatives of pairs."""

import dataclasses
import json

import numpy as np
import pytest

from albert_tf.commands import mine
from albert_tf.errors import UserError
from albert_tf.tasks.similarity.negatives import hard_negatives

# Unit vectors by their angle to the anchor "q", in degrees.
_ANGLES = {"q": 0, "p": 30, "p2": 10, "near": 20, "just": 35, "far": 50, "off": 120}


def _encode(texts, prompt_type):
    radians = np.radians([_ANGLES[text] for text in texts])
    vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)
    return np.array_split(vectors, 2)


@pytest.mark.parametrize(
    ("count", "ranks", "margin", "expected"),
    [
        (9, 9, 0.05, ["just", "far", "off"]),  # cos 35 = 0.946 cos 30
        (9, 9, 0.06, ["far", "off"]),
        (1, 9, 0.0, ["just"]),  # not "near", which is nearer than the positive
        (9, 5, 0.0, ["just"]),  # of q, p2, near, p, just
    ],
)
def test_negatives_are_near_but_less_than_the_positive(count, ranks, margin, expected):
    texts = ["p", "p2", "near", "just", "far", "off", "q"]
    pairs = ["q", "q"], ["p", "p2"]
    found = hard_negatives(*pairs, texts, _encode, count, ranks, margin)
    assert [texts[place] for place in found[0]] == expected


@pytest.mark.slow
def test_the_command_writes_a_training_table(saved_model, tmp_path):
    rows = [("a film", "the film"), ("very bad", "not good"), ("a film", "one plot")]
    pairs, corpus, out, scored = (
        tmp_path / name
        for name in ("pairs.tsv", "corpus.txt", "train.jsonl", "scored.tsv")
    )
    lines = map("\t".join, [("anchor", "positive"), *rows])
    pairs.write_text("".join(f"{line}\n" for line in lines))
    corpus.write_text("it was good\n\nthe plot\n")
    options = mine.MineOptions(
        model_dir=str(saved_model("similarity")),
        pairs=str(pairs),
        corpus_file=str(corpus),
        output_file=str(out),
        negatives=9,
        margin=0.0,
    )
    mine.mine(options)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    negatives = {row["negative"] for row in found}
    assert {"it was good", "the plot"} <= negatives
    assert "" not in negatives
    for row in found:
        assert (row["anchor"], row["positive"]) in rows
        assert (row["anchor"], row["negative"]) not in rows
    scored.write_text("sentence1\tsentence2\tscore\na\tb\t0\n")
    with pytest.raises(UserError, match=r"scored.tsv has a column 'score', but every"):
        mine.mine(dataclasses.replace(options, pairs=str(scored)))
    with pytest.raises(UserError, match="No pair of .* lower --margin"):
        mine.mine(dataclasses.replace(options, margin=1.0, ranks=1))
