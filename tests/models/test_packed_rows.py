"""Several texts in one row: each is computed as if it were alone."""

import numpy as np
import pytest

from albert_tf.layers.attention_mask import positions_in_pair
from albert_tf.models.pretraining import AlbertForPreTraining

PAIR_IDS = np.array([[1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 0, 0]], "int32")
PAIRS = [slice(0, 5), slice(5, 8), slice(8, 12)]


@pytest.fixture
def row():
    random = np.random.default_rng(5)
    return {
        "input_ids": random.integers(0, 37, (1, 14), dtype="int32"),
        "input_mask": (PAIR_IDS > 0).astype("int32"),
        "segment_ids": random.integers(0, 2, (1, 14), dtype="int32"),
        "pair_ids": PAIR_IDS,
        "cls_positions": np.array([[0, 5, 8, 0]], "int32"),
    }


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_each_text_as_if_alone(tiny_config, row, policy):
    model = AlbertForPreTraining(tiny_config(), dtype=policy)
    packed = model(row)
    tolerance = 1e-5 if policy == "float32" else 0.05
    for k, pair in enumerate(PAIRS):
        names = ("input_ids", "segment_ids")
        alone = model({name: row[name][:, pair] for name in names})
        for name, found in (
            ("sequence_output", packed["sequence_output"][:, pair]),
            ("pooled_output", packed["pooled_output"][:, k]),
            ("sentence_order_logits", packed["sentence_order_logits"][:, k]),
        ):
            np.testing.assert_allclose(
                np.array(found, "float32"),
                np.array(alone[name], "float32"),
                rtol=0,
                atol=tolerance,
            )


def test_no_pair_feels_another(tiny_config, row):
    model = AlbertForPreTraining(tiny_config())
    before = model(row)["sequence_output"].numpy()
    row["input_ids"][0, 6] += 1
    change = np.abs(model(row)["sequence_output"] - before).max(axis=-1)[0]
    assert (change[5:8] > 0).all()
    assert change[:5].max() == change[8:12].max() == 0


def test_positions_start_again():
    positions = positions_in_pair(PAIR_IDS)
    expected = [0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3, 0, 1]
    np.testing.assert_array_equal(positions, [expected])


def test_one_text_in_a_row_is_the_usual_case(tiny_config, tiny_features):
    model = AlbertForPreTraining(tiny_config())
    usual = model(tiny_features)
    tiny_features["pair_ids"] = tiny_features["input_mask"]
    tiny_features["cls_positions"] = np.zeros((2, 1), "int32")
    packed = model(tiny_features)
    real = tiny_features["input_mask"] == 1
    np.testing.assert_array_equal(
        packed["sequence_output"][real], usual["sequence_output"][real]
    )
    np.testing.assert_array_equal(packed["pooled_output"][:, 0], usual["pooled_output"])
