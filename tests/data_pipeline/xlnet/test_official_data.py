"""Segments of streams and tokens to predict: the official law, given its draws."""

import json
import random

import numpy as np
import pytest
import tensorflow as tf

from data_pipeline.xlnet.permutation import choose
from data_pipeline.xlnet.permutation import choose_targets
from data_pipeline.xlnet.permutation import draw_permutations
from data_pipeline.xlnet.permutation import permuted_order
from data_pipeline.xlnet.permutation import predictions
from data_pipeline.xlnet.streams import lay_out
from data_pipeline.xlnet.streams import split_texts

_SEP, _CLS = 3, 2  # of the recorded data


@pytest.fixture(scope="module")
def recorded(shared):
    return shared("fixtures/xlnet/data")


class Recorded:
    """Draws what was recorded of one call."""

    def __init__(self, draws):
        self._draws = draws

    def random(self):
        return self._draws["u"]

    def choice(self, cuts):
        assert self._draws["cut"] in cuts
        return self._draws["cut"]

    def randint(self, lowest, highest):
        assert lowest == 0 and self._draws["b_drawn"] <= highest
        return self._draws["b_drawn"]


def boundaries_of(sentence_bits):
    """Lists the places where sentences start, and the end."""
    starts = np.flatnonzero(np.diff(sentence_bits.astype(int))) + 1
    return [0, *starts.tolist(), len(sentence_bits)]


def test_pairs_are_the_official_ones(recorded):
    bits = np.load(recorded / "stream.npz")["sent_ids"][:20000]
    boundaries = boundaries_of(bits)
    for example in json.loads((recorded / "split.json").read_text())["examples"]:
        place = example["begin"], example["total"]
        found = split_texts(boundaries, *place, Recorded(example))
        assert found == (example["result"] and tuple(example["result"][:5]))


@pytest.mark.parametrize("name", ["uni", "bi", "bi_cores", "all_spans"])
def test_records_are_the_official_ones(name, recorded):
    """As they are written, and as they are read."""
    data = np.load(recorded / f"create_data_{name}.npz")
    draws = json.loads((recorded / f"create_data_{name}_draws.json").read_text())
    streams, length = data["stream"], data["input"].shape[1]
    reused = length // 2
    for number, draw in enumerate(draws):
        batch, row = divmod(number, len(streams))
        begin, ids = batch * reused, streams[row]
        boundaries = boundaries_of(data["stream_sent_ids"][row])
        total, drawn = length - reused - 3, Recorded(draw["split"])
        texts = split_texts(boundaries, begin + reused, total, drawn)
        rows, no_starts = np.array([[begin, *texts]]), np.zeros(len(ids), bool)
        found = lay_out(ids, no_starts, rows, length, _SEP, _CLS)
        np.testing.assert_array_equal(found["input_ids"][0], data["input"][number])
        np.testing.assert_array_equal(found["segment_ids"][0], data["seg_id"][number])
        assert texts[-1] == data["label"][number, 0]
        a_length, b_length = texts[1] - texts[0], texts[3] - texts[2]
        ends = a_length, a_length + b_length + 1, a_length + b_length + 2
        special = np.isin(np.arange(length) - reused, ends)
        np.testing.assert_array_equal(found["token_boundary"][0], special)
    permutations = data["permutations"]
    inputs = tf.constant(data["input"][: len(permutations)])
    chosen = data["is_masked"][: len(permutations)] > 0
    query_order, key_order, targets = permuted_order(
        inputs, chosen, permutations, reused, (_SEP, _CLS)
    )
    # The keys that a query must not see, [B, S, S].
    hidden = np.array(query_order)[:, :, None] <= np.array(key_order)[:, None]
    np.testing.assert_array_equal(hidden, data["parsed/perm_mask"])
    np.testing.assert_array_equal(targets, data["parsed/input_q"])
    if "parsed/target_mapping" not in data.files:
        return
    mapping = data["parsed/target_mapping"]
    found = predictions(inputs, targets, mapping.shape[1])
    positions = np.where(mapping.any(axis=-1), mapping.argmax(axis=-1), -1)
    np.testing.assert_array_equal(found["target_positions"], positions)
    np.testing.assert_array_equal(found["target_ids"], data["parsed/target"])
    np.testing.assert_array_equal(found["target_weights"], data["parsed/target_mask"])


@pytest.mark.parametrize(
    ("drawn", "texts"), [(0.5, (0, 2, 2, 5, 1)), (0.49, (0, 2, 9, 12, 0))]
)
def test_half_of_the_texts_follow(drawn, texts):
    draws = Recorded({"u": drawn, "cut": 2, "b_drawn": 9})
    assert split_texts([0, 2, 6, 9, 20], 0, 5, draws) == texts
    # The second text has at least a token, and ends before the stream's last one.
    for last, expected in ((9, (0, 3, 9, 11, 0)), (18, (0, 4, 18, 19, 0))):
        draws = Recorded({"u": 0.49, "cut": 4, "b_drawn": 18})
        assert split_texts([0, 4, last, 20], 0, 5, draws) == expected
    # Texts end before the stream does.
    assert split_texts([0, 4, 8], 4, 4, random.Random(0)) is None
    assert split_texts([0, 4, 9], 4, 4, random.Random(0)) is not None
    draws = Recorded({"u": 0.5, "cut": 3})
    assert split_texts([0, 3, 5], 0, 4, draws) is None
    assert split_texts([0, 3, 6], 0, 4, draws) == (0, 2, 3, 5, 1)


def test_permutations_follow_from_their_seed_inside_tf_data():
    seeds = tf.data.Dataset.from_tensor_slices([[1, 2], [1, 2], [1, 3]])
    drawn = list(seeds.map(lambda seed: draw_permutations(500, 4, seed)))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0].numpy() != drawn[2].numpy()).any()
    np.testing.assert_array_equal(np.sort(drawn[0]), np.tile(np.arange(4), (500, 2, 1)))
    # Each is as frequent as the others, and the halves are independent.
    first = np.array(drawn[0])[:, :, 0]
    counts = np.bincount(4 * first[:, 0] + first[:, 1], minlength=16)
    assert counts.min() > 10 and counts.max() < 60


def test_halves_of_unequal_lengths_have_orders_of_their_own():
    """The last six tokens are [SEP], known and predicted, in blocks of two."""
    ids = tf.constant([[9, 8, 7, 6, 5, 9, 3, 8]])
    chosen = tf.constant([[0, 1, 0, 0, 0, 1, 1, 0]]) > 0
    order = tf.constant([[[1, 0], [0, 1]]])
    query_order, key_order, targets = permuted_order(ids, chosen, order, 2, (3, 2))
    # Of the first half: 1 and 0, of which the second is predicted.
    assert key_order.numpy().tolist() == [[-1, 0, 2, 2, 2, 6, 7, 2]]
    assert query_order.numpy().tolist() == [[0, 0, 3, 3, 3, 6, 8, 3]]
    assert targets.numpy().tolist() == [[0, 1, 0, 0, 0, 1, 0, 0]]


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


def test_chosen_tokens_are_the_official_ones(recorded):
    is_start = np.load(recorded / "stream.npz")["is_start"].reshape(200, 256) > 0
    examples = json.loads((recorded / "sample_mask.json").read_text())["examples"]
    examples = [example for example in examples if example["goal"] is not None]
    assert len(examples) > 10
    for example in examples:
        starts = is_start[example["sequence"], : example["length"]]
        if example["reverse"]:
            starts = starts[::-1]
        found = chosen_with(starts, example["goal"], example)
        if example["reverse"]:
            found = len(starts) - 1 - found[::-1]
        assert found.tolist() == example["masked"]


def runs(chosen):
    """Lengths of the runs of chosen tokens of all rows."""
    padded = np.pad(np.array(chosen, int), [[0, 0], [1, 1]])
    edges = np.flatnonzero(np.diff(padded).reshape(-1))
    return edges[1::2] - edges[::2]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_drawn_tokens_have_the_official_statistics(recorded, is_reversed):
    starts = np.load(recorded / "stream.npz")["is_start"].reshape(200, 256) > 0
    name = "goal_43" + "_reverse" * is_reversed
    statistics = json.loads((recorded / "sample_mask.json").read_text())["statistics"]
    rows = np.tile(np.concatenate([starts, starts], axis=1), (10, 1))
    chosen = choose_targets(rows, tf.fill([len(rows)], is_reversed), 256, 86, [1, 2], 5)
    halves = np.array(chosen).reshape(-1, 256)
    assert (halves.sum(axis=1) == 43).all()
    found = np.bincount(runs(halves), minlength=10)[1:6] / len(halves)
    expected = [statistics[name]["run_lengths"][str(n)] / 8000 for n in range(1, 6)]
    np.testing.assert_allclose(found, expected, rtol=0.05)
    for place, side in ((0, "first"), (-1, "last")):
        share = statistics[name][f"share_of_{side}_position"]
        assert halves[:, place].mean() == pytest.approx(share, abs=0.015)


def test_the_first_half_has_the_odd_prediction():
    starts = tf.ones([4, 16], tf.bool)
    chosen = choose_targets(starts, tf.fill([4], False), 8, 5, [1, 2], 3).numpy()
    assert chosen[:, :8].sum(axis=1).tolist() == [3] * 4
    assert chosen[:, 8:].sum(axis=1).tolist() == [2] * 4
