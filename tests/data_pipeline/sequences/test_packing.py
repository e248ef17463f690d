"""Packing: each pair once and whole, rows fuller, the same loss."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.objectives.masked_lm import PretrainingObjective
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.records import dataset_info
from data_pipeline.records.examples import parse_padded
from data_pipeline.records.examples import serialize
from data_pipeline.sequences import packing

LENGTHS = {"tokens": 128, "predictions": 40, "pairs": 3}
SETTINGS = {
    "max_seq_length": 128,
    "max_predictions_per_seq": 40,
    "short_seq_prob": 0.8,
    "dupe_factor": 1,
}


@pytest.fixture
def both(made, tokenizer, examples):
    """The same pairs as two batches for the model: apart and packed."""
    rows = [*examples(made(**SETTINGS) / "x.tfrecord")]
    apart = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    apart["masked_lm_weights"] = apart["masked_lm_weights"].astype(np.float32)
    packed = packing.pack(apart, LENGTHS["pairs"], tokenizer.pad_id)
    return [
        parse_padded(kind, tf.constant(serialize(features)), LENGTHS, 55)
        for kind, features in (("static", apart), ("packed", packed))
    ]


def pairs_of(batch):
    """Yields each pair of a batch as a tuple that can be compared."""
    rows = {name: values.numpy() for name, values in batch.items()}
    # Apart, a row is one pair, and begins with its head.
    ids = rows.get("pair_ids", rows["input_mask"])
    for r, k in np.argwhere(np.arange(3) < ids.max(axis=1)[:, None]):
        places = np.flatnonzero(ids[r] == k + 1)
        first = places[0]
        assert (places == np.arange(first, first + len(places))).all()
        if "pair_ids" in rows:
            assert first == rows["cls_positions"][r, k]
        real = rows["masked_lm_weights"][r] == 1
        here = real & np.isin(rows["masked_lm_positions"][r], places)
        yield (
            tuple(rows["input_ids"][r, places].tolist()),
            tuple(rows["segment_ids"][r, places].tolist()),
            tuple((rows["masked_lm_positions"][r, here] - first).tolist()),
            tuple(rows["masked_lm_ids"][r, here].tolist()),
            int(np.ravel(rows["sentence_order_labels"][r])[k]),
        )


def test_each_pair_is_in_one_row_whole(both, tokenizer):
    apart, packed = both
    assert sorted(pairs_of(packed)) == sorted(pairs_of(apart))
    mask, pair_ids = packed["input_mask"].numpy(), packed["pair_ids"].numpy()
    assert packed["cls_positions"].shape[1] == 3 >= pair_ids.max() > 1
    np.testing.assert_array_equal(mask, pair_ids > 0)
    assert (packed["input_ids"].numpy()[mask == 0] == tokenizer.pad_id).all()


def test_the_command_packs_the_pairs_that_it_would_write(made, tokenizer):
    folder = made(**SETTINGS, pack=True, max_pairs_per_row=3)
    before, after = (
        dataset_info.read(path)["counts"] for path in (made(**SETTINGS), folder)
    )
    for name in ("documents", "sequences", "tokens", "label_1_share"):
        assert after[name] == before[name]
    assert after["fill_rate_unpacked"] == before["fill_rate"] < 0.75
    assert after["fill_rate"] > before["fill_rate"] + 0.15
    dataset = pretraining_dataset(str(folder), tokenizer, 9999, 128, 40, 1, False)
    (batch,) = dataset
    pairs = [*pairs_of(batch)]
    assert all(ids[0] == tokenizer.cls_id for ids, *_ in pairs)
    assert (len(pairs), len(batch["input_ids"])) == (after["sequences"], after["rows"])


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
    [{}, pytest.param({"depth_loop": True}, marks=pytest.mark.nightly)],
)
def test_loss_and_gradients_are_those_of_the_pairs(tiny_config, both, execution):
    """In an evaluation's batch, rows of padding count nothing."""
    sizes = {"vocab_size": 55, "max_position_embeddings": 128, "num_hidden_layers": 2}
    model = AlbertForPreTraining(tiny_config(**sizes), **execution)
    apart, packed = both
    rows = packed["input_ids"].shape[0]
    padded = {name: tf.concat([v, v[:2]], axis=0) for name, v in packed.items()}
    padded["example_weights"] = tf.constant([1.0] * rows + [0.0] * 2)
    losses, metrics, gradients = loss_and_gradients(model, apart)
    for batch in (packed, padded):
        found = loss_and_gradients(model, batch)
        for expected, values in zip((losses, metrics), found[:2], strict=True):
            for name in expected:
                np.testing.assert_allclose(values[name], expected[name], rtol=1e-5)
        for one, other in zip(found[2], gradients, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
