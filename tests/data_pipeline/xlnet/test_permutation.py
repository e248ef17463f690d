"""The order of predictions: the official law, given its permutations, and its draws."""

import numpy as np
import pytest
import tensorflow as tf

from data_pipeline.xlnet.permutation import draw_permutations
from data_pipeline.xlnet.permutation import permuted_order
from data_pipeline.xlnet.permutation import predictions

_FUNCTIONAL = (3, 2)  # [SEP] and [CLS] of the recorded data


def hidden(query_order, key_order):
    """Returns which keys a query must not see: bool `[B, S, S]`."""
    return np.array(query_order)[:, :, None] <= np.array(key_order)[:, None]


@pytest.mark.parametrize("group", ["one_block", "three_blocks", "two_blocks"])
def test_one_half_is_the_official_one(group, shared):
    data = np.load(shared("fixtures/xlnet/data/local_perm.npz"))
    data = {n.split("/")[1]: data[n] for n in data.files if n.startswith(group)}
    inputs, chosen = data["inputs"], data["is_masked"] > 0
    both = np.repeat(data["permutation"][:, None], 2, axis=1)
    length = inputs.shape[1]
    # As the second half, after a first one of the same tokens, too.
    orders = permuted_order(
        tf.constant(np.tile(inputs, 2)), np.tile(chosen, 2), both, length, _FUNCTIONAL
    )
    mask, targets = hidden(*orders[:2]), orders[2].numpy()
    for half in (slice(length), slice(length, None)):
        np.testing.assert_array_equal(mask[:, half, half], data["perm_mask"])
        np.testing.assert_array_equal(targets[:, half], data["target_mask"])
        np.testing.assert_array_equal(targets[:, half], data["input_q"])
    assert mask[:, :length, length:].all() and not mask[:, length:, :length].any()


@pytest.mark.parametrize("name", ["uni", "bi", "bi_cores", "all_spans"])
def test_records_are_read_as_by_the_official_code(name, shared):
    data = np.load(shared(f"fixtures/xlnet/data/create_data_{name}.npz"))
    permutations = data["permutations"]
    inputs = tf.constant(data["input"][: len(permutations)])
    chosen = data["is_masked"][: len(permutations)] > 0
    query_order, key_order, targets = permuted_order(
        inputs, chosen, permutations, inputs.shape[1] // 2, _FUNCTIONAL
    )
    expected = data["parsed/perm_mask"]
    np.testing.assert_array_equal(hidden(query_order, key_order), expected)
    np.testing.assert_array_equal(targets, data["parsed/input_q"])
    if "parsed/target_mapping" not in data.files:
        return
    mapping = data["parsed/target_mapping"]
    found = predictions(inputs, targets, mapping.shape[1])
    positions = np.where(mapping.any(axis=-1), mapping.argmax(axis=-1), -1)
    np.testing.assert_array_equal(found["target_positions"], positions)
    np.testing.assert_array_equal(found["target_ids"], data["parsed/target"])
    np.testing.assert_array_equal(found["target_weights"], data["parsed/target_mask"])


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
