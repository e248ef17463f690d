"""Choice of the tokens to predict: the official law, given its draws, and shares."""

import json

import numpy as np
import pytest
import tensorflow as tf

from data_pipeline.xlnet.permutation import choose
from data_pipeline.xlnet.permutation import choose_targets
from data_pipeline.xlnet.permutation import draw_spans


def chosen_with(starts, goal, draws):
    """Chooses tokens of one text with recorded spans and single tokens."""
    lengths, lefts = np.ones([1, max(goal, 1)], np.int32), np.zeros([1, max(goal, 1)])
    count = 0
    for step, (length, left) in enumerate(draws["spans"][:goal]):
        lengths[0, step] = length
        lefts[0, step] = (left + 0.5) / (6 * min(length, goal - count))
        count += min(length, goal - count)
    fills = np.ones([1, len(starts)], np.float32)
    for place in reversed(draws["fills"]):
        fills[0, place] = draws["fills"].index(place) / 100
    chosen = choose(starts[None], goal, lengths, lefts.astype(np.float32), fills)
    return np.flatnonzero(chosen[0])


def test_chosen_tokens_are_the_official_ones(shared):
    folder = shared("fixtures/xlnet/data")
    is_start = np.load(folder / "stream.npz")["is_start"].reshape(200, 256) > 0
    recorded = json.loads((folder / "sample_mask.json").read_text())["examples"]
    compared = 0
    for example in recorded:
        if example["goal"] is None:
            continue
        starts = is_start[example["sequence"], : example["length"]]
        if example["reverse"]:
            starts = starts[::-1]
        found = chosen_with(starts, example["goal"], example)
        if example["reverse"]:
            found = len(starts) - 1 - found[::-1]
        assert found.tolist() == example["masked"]
        compared += 1
    assert compared > 10


def runs(chosen):
    """Lengths of the runs of chosen tokens of all rows."""
    padded = np.pad(np.array(chosen, int), [[0, 0], [1, 1]])
    edges = np.flatnonzero(np.diff(padded).reshape(-1))
    return edges[1::2] - edges[::2]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_drawn_tokens_have_the_official_statistics(shared, is_reversed):
    folder = shared("fixtures/xlnet/data")
    starts = np.load(folder / "stream.npz")["is_start"].reshape(200, 256) > 0
    name = "goal_43" + "_reverse" * is_reversed
    recorded = json.loads((folder / "sample_mask.json").read_text())["statistics"][name]
    rows = np.tile(np.concatenate([starts, starts], axis=1), (10, 1))
    chosen = choose_targets(rows, tf.fill([len(rows)], is_reversed), 256, 86, [1, 2], 5)
    halves = np.array(chosen).reshape(-1, 256)
    assert (halves.sum(axis=1) == 43).all()
    found = np.bincount(runs(halves), minlength=10)[1:6] / len(halves)
    expected = [recorded["run_lengths"][str(n)] / 8000 for n in range(1, 6)]
    np.testing.assert_allclose(found, expected, rtol=0.05)
    for place, side in ((0, "first"), (-1, "last")):
        share = recorded[f"share_of_{side}_position"]
        assert halves[:, place].mean() == pytest.approx(share, abs=0.015)


def test_draws_follow_from_their_seed():
    first, same, other = (
        draw_spans(3, 8, 4, seed, 5) for seed in ([1, 2], [1, 2], [1, 3])
    )
    for a, b in zip(first, same, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first[2].numpy() != other[2].numpy()).any()
    lengths = draw_spans(2000, 8, 10, [5, 6], 5)[0].numpy().reshape(-1)
    shares = np.bincount(lengths, minlength=6)[1:] / lengths.size
    np.testing.assert_allclose(shares, [0.438, 0.219, 0.146, 0.109, 0.088], atol=0.012)
    assert (draw_spans(2, 8, 10, [5, 6], 1)[0].numpy() == 1).all()


def test_the_first_half_has_the_odd_prediction():
    starts = tf.ones([4, 16], tf.bool)
    chosen = choose_targets(starts, tf.fill([4], False), 8, 5, [1, 2], 3).numpy()
    assert chosen[:, :8].sum(axis=1).tolist() == [3] * 4
    assert chosen[:, 8:].sum(axis=1).tolist() == [2] * 4
