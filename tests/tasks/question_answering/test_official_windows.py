"""Windows against the official code's."""

import json

import numpy as np
import pytest

from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from tools.verify.squad_windows import features_of


def official(shared, name, part, tokenizer):
    """Reads the official code's windows of a set of questions, and makes ours."""
    folder = shared("fixtures/official_squad")
    facts = json.loads((folder / f"features_{name}.json").read_text())
    expected = dict(np.load(folder / f"features_{name}.npz"))
    sizes = WindowSizes(
        facts["max_seq_length"], facts["doc_stride"], facts["max_query_length"]
    )
    keys = [
        (facts["qids"][question], window)
        for question, window in zip(
            expected["example_index"], expected["doc_span_index"], strict=True
        )
    ]
    paragraphs = read_paragraphs(folder / f"{name}_{part}.json")
    [found] = windows_of(paragraphs, tokenizer, sizes, {}, part == "train")
    return found, facts, expected, keys


def numbered(windows):
    return {
        (windows.questions[question].id, window): row
        for row, (question, window) in enumerate(
            zip(windows.question_index, windows.window_index.tolist(), strict=True)
        )
    }


@pytest.mark.parametrize("part", ["train", "dev"])
@pytest.mark.parametrize("name", ["v1", "v2", "edge"])
def test_official_windows(name, part, shared, english):
    found, facts, expected, keys = official(shared, name, part, english)
    rows = numbered(found)
    # What the official code drops has windows, too.
    assert {key[0] for key in rows} - {key[0] for key in keys} == set(facts["dropped"])
    places = [rows[key] for key in keys]
    width = facts["max_seq_length"]
    for feature, array in features_of(found, width).items():
        np.testing.assert_array_equal(array[places], expected[feature], feature)
    best = found.padded(found.is_max_context, width)[places]
    np.testing.assert_array_equal(best, expected["token_is_max_context"] == 1)
    if part == "train":
        theirs = [expected[n] for n in ("start_position", "end_position")]
        theirs = np.column_stack([*theirs, expected["is_impossible"]])
        differ = (found.answers[places] != theirs).any(axis=1)
        # The official alignment lets "tab" begin with the "a" before its tab.
        tab = [("edge-011", 0)] if name == "edge" else []
        assert [keys[i] for i in np.flatnonzero(differ)] == tab
