"""Packing: each pair once and whole, rows fuller, the same loss."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PretrainingObjective
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.records import examples
from data_pipeline.sequences import packing

TOKENS, PREDICTIONS, PAIRS, PAD = 16, 3, 4, 0
LENGTHS = {"tokens": TOKENS, "predictions": PREDICTIONS, "pairs": PAIRS}
PER_TOKEN = ("input_ids", "segment_ids", "token_boundary")


@pytest.fixture
def pairs():
    """Forty masked pairs of 4 to 16 tokens, with 0 to 3 predictions."""
    random = np.random.default_rng(0)
    lengths = random.integers(4, 12, (40, 1))
    lengths[:3] = TOKENS
    predictions = random.integers(0, PREDICTIONS + 1, (40, 1))
    real = np.arange(TOKENS) < lengths
    chosen = np.arange(PREDICTIONS) < predictions

    def tokens(high):
        return np.where(real, random.integers(1, high, real.shape), 0)

    positions = random.permuted(np.tile(np.arange(1, 4), (40, 1)), axis=1)
    return {
        "input_ids": tokens(37),
        "input_mask": real.astype(np.int32),
        "segment_ids": tokens(3) // 2,
        "token_boundary": tokens(3) // 2,
        "masked_lm_positions": np.where(chosen, np.sort(positions, axis=1), 0),
        "masked_lm_ids": np.where(chosen, random.integers(1, 37, chosen.shape), 0),
        "masked_lm_weights": chosen.astype(np.float32),
        "next_sentence_labels": random.integers(0, 2, (40, 1)),
    }


def unpacked(row):
    """Yields each pair of a packed row as a tuple that can be compared."""
    for k in np.flatnonzero(row["sentence_order_weights"]):
        places = np.flatnonzero(row["pair_ids"] == k + 1)
        first = places[0]
        assert first == row["cls_positions"][k]
        assert (places == np.arange(first, first + len(places))).all()
        real = row["masked_lm_weights"] == 1
        here = real & np.isin(row["masked_lm_positions"], places)
        yield (
            *(tuple(row[name][places].tolist()) for name in PER_TOKEN),
            tuple((row["masked_lm_positions"][here] - first).tolist()),
            tuple(row["masked_lm_ids"][here].tolist()),
            int(row["sentence_order_labels"][k]),
        )


def as_pair(features, i):
    length = features["input_mask"][i].sum()
    count = int(features["masked_lm_weights"][i].sum())
    return (
        *(tuple(features[name][i][:length].tolist()) for name in PER_TOKEN),
        tuple(features["masked_lm_positions"][i][:count].tolist()),
        tuple(features["masked_lm_ids"][i][:count].tolist()),
        int(features["next_sentence_labels"][i, 0]),
    )


def rows_of(features):
    count = len(features["input_ids"])
    return [{name: v[i] for name, v in features.items()} for i in range(count)]


@pytest.mark.parametrize("most", [PAIRS, 2])
def test_each_pair_is_in_one_row_whole(pairs, most):
    packed = packing.pack(pairs, most, PAD)
    assert packed["cls_positions"].shape[1] == most >= packed["pair_ids"].max() > 1
    found = [pair for row in rows_of(packed) for pair in unpacked(row)]
    assert sorted(found) == sorted(as_pair(pairs, i) for i in range(40))
    assert packed["input_mask"].sum() == pairs["input_mask"].sum()
    assert packed["masked_lm_weights"].sum() == pairs["masked_lm_weights"].sum()
    np.testing.assert_array_equal(packed["input_mask"], packed["pair_ids"] > 0)
    assert (packed["input_ids"][packed["pair_ids"] == 0] == PAD).all()
    assert packed["input_mask"].mean() > 1.2 * pairs["input_mask"].mean()


@pytest.mark.parametrize(
    ("sizes", "limits", "rows"),
    [
        ([[6, 1], [5, 1], [4, 1], [3, 1], [2, 1]], (10, 9), [0, 1, 0, 1, 1]),
        # The fuller of two rows with room is taken.
        ([[5, 1], [7, 1], [2, 1]], (10, 9), [1, 0, 0]),
        # The second measure is kept too.
        ([[2, 2], [2, 2], [2, 1]], (10, 3), [0, 1, 0]),
    ],
)
def test_best_fit(sizes, limits, rows):
    assert packing.assign_rows(np.array(sizes), limits).tolist() == rows


@pytest.fixture
def both(pairs):
    """The same pairs as two batches for the model: unpacked and packed."""
    static = examples.serialize(pairs)
    packed = examples.serialize(packing.pack(pairs, PAIRS, PAD))
    return (
        examples.parse_padded("static", tf.constant(static), LENGTHS, 37),
        examples.parse_padded("packed", tf.constant(packed), LENGTHS, 37),
    )


def loss_and_gradients(model, batch):
    objective = PretrainingObjective()
    weights = objective.denominators(batch)
    with tf.GradientTape() as tape:
        losses, metrics = objective(model, batch, training=False, dropout_seed=None)
        means = {term: losses[term] / weights[term] for term in losses}
        total = sum(means.values())
    variables = [v.value for v in model.trainable_variables]
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(total, variables)]
    return means, metrics, gradients


@pytest.mark.parametrize(
    "execution",
    [
        {},
        pytest.param(
            {"depth_loop": True, "rematerialize": True}, marks=pytest.mark.nightly
        ),
    ],
)
def test_loss_and_gradients_are_those_of_the_pairs(tiny_config, both, execution):
    model = AlbertForPreTraining(tiny_config(num_hidden_layers=2), **execution)
    expected, found = (loss_and_gradients(model, batch) for batch in both)
    for name in expected[0]:
        np.testing.assert_allclose(found[0][name], expected[0][name], rtol=1e-5)
    for name in expected[1]:
        np.testing.assert_allclose(found[1][name], expected[1][name], rtol=1e-5)
    for one, other in zip(found[2], expected[2], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_rows_that_pad_an_evaluation_batch_count_nothing(tiny_config, both):
    model = AlbertForPreTraining(tiny_config(num_hidden_layers=1))
    _, packed = both
    rows = packed["input_ids"].shape[0]
    padded = {name: tf.concat([v, v[:2]], axis=0) for name, v in packed.items()}
    padded["example_weights"] = tf.constant([1.0] * rows + [0.0] * 2)
    expected, found = (loss_and_gradients(model, b)[:2] for b in (packed, padded))
    for part in range(2):
        for name in expected[part]:
            np.testing.assert_allclose(
                found[part][name], expected[part][name], rtol=1e-5
            )


def test_command_packs_the_pairs_it_would_write(made, tokenizer):
    settings = {"max_seq_length": 64, "short_seq_prob": 0.8}
    folder = made(**settings, pack=True, max_pairs_per_row=3)
    before, after = (
        json.loads((path / "dataset_info.json").read_text())["counts"]
        for path in (made(**settings), folder)
    )
    for name in ("documents", "sequences", "tokens", "label_1_share"):
        assert after[name] == before[name]
    assert after["fill_rate_unpacked"] == before["fill_rate"] < 0.75
    assert after["fill_rate"] > before["fill_rate"] + 0.15
    dataset = pretraining_dataset(str(folder), tokenizer, 8, 64, 10, 1, training=False)
    rows = [row for b in dataset.as_numpy_iterator() for row in rows_of(b)]
    assert len(rows) == after["rows"]
    for row in rows:
        heads = row["cls_positions"][row["sentence_order_weights"] == 1]
        assert (row["input_ids"][heads] == tokenizer.cls_id).all()
        assert len(heads) == row["pair_ids"].max() <= 3
    weights = np.stack([row["sentence_order_weights"] for row in rows])
    assert weights.sum() == after["sequences"] and weights.shape[1] == 3
