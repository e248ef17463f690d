"""Answers better than a recording's, and how few of them are accepted."""

import numpy as np
import pytest

from tests.tools.verify.squad_recording import failed
from tests.tools.verify.squad_recording import place_of
from tests.tools.verify.squad_recording import record


def asked(context, *answer):
    return [(context, [("q", "cat", answer)])]


MAPS = ("tok_start_to_orig_index", "tok_end_to_orig_index")


@pytest.mark.parametrize(
    ("context", "span"),
    [
        ("the cat \u0628\u0651 sat", (8, 10)),  # Arabic: a letter and its vowel
        ("the cat \u0111\u0323 sat", (8, 10)),  # a Vietnamese letter and a tone
    ],
)
def test_marks_belong_to_an_unknown_letter(context, span, made):
    folder, _ = made
    windows, arrays = record(folder, asked(context, "cat", 4))
    token = place_of(windows, span)
    # The official alignment ends with the letter.
    arrays["tok_end_to_orig_index"][0, token] -= 1
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == []
    # Of what follows the marks, nothing belongs to it.
    arrays["tok_end_to_orig_index"][0, token] += 3
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == []
    # Another letter of the same text is no better one.
    windows, arrays = record(folder, asked(context + context[7:], "cat", 4))
    for name in MAPS:
        arrays[name][0, token] += len(context[7:])
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == [f"features_set/{name}" for name in MAPS]


def test_a_character_that_becomes_several_words(made):
    folder, _ = made
    windows, arrays = record(folder, asked("the \ufdfa \ufdfa", "the", 0))
    spans = windows.spans[windows.first_lengths[0] : windows.lengths[0] - 1].tolist()
    tokens = [k for k, span in enumerate(spans) if span == [4, 5]]
    assert len(tokens) == 4
    # None of the phrase's letters is aligned: each takes the nearest ones that are.
    arrays["tok_start_to_orig_index"][0, tokens] = 2
    arrays["tok_end_to_orig_index"][0, tokens] = 5
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == []
    # The other one of these characters is no better.
    for name in MAPS:
        arrays[name][0, tokens] = 6
    np.savez(folder / "features_set.npz", **arrays)
    assert failed(folder) == [f"features_set/{name}" for name in MAPS]


def test_a_better_window_and_what_follows_in_others(made):
    folder, _ = made
    context = "the cat sat on the mat and the dog sat"
    windows, arrays = record(folder, asked(context, "cat", 4))
    before, step = windows.first_lengths[0], 3
    cat = windows.answers[0, :2] - before
    assert windows.answers[:3, 2].tolist() == [0, 0, 1]
    # Recorded is more: the second window no longer holds all of it.
    stretch = cat + [-3, 2]
    positions = ("start_position", "end_position", "is_impossible")
    recorded = {name: arrays[name].copy() for name in positions}
    recorded["start_position"][:2] = stretch[0] + before, 0
    recorded["end_position"][:2] = stretch[1] + before, 0
    recorded["is_impossible"][1] = 1
    assert stretch[0] < step
    np.savez(folder / "features_set.npz", **{**arrays, **recorded})
    assert failed(folder) == []
    # It does not follow without the first window, nor from another stretch.
    for name, row, value in (
        ("is_impossible", 1, 0),
        ("is_impossible", 2, 0),
        ("start_position", 1, before),
        ("start_position", 2, before),
    ):
        wrong = {key: array.copy() for key, array in recorded.items()}
        wrong[name][row] = value
        np.savez(folder / "features_set.npz", **{**arrays, **wrong})
        assert failed(folder)
    wrong = {key: array.copy() for key, array in recorded.items()}
    for name in positions:
        wrong[name][0] = arrays[name][0]
    np.savez(folder / "features_set.npz", **{**arrays, **wrong})
    assert failed(folder) == [f"features_set/{name}" for name in positions]
