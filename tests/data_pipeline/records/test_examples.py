"""Records: exact bytes, the official reader, and parsing."""

import numpy as np
import tensorflow as tf

from data_pipeline.records import examples


def test_serialize_writes_what_protocol_buffers_write():
    rng = np.random.default_rng(0)
    ints = rng.integers(0, 2**27, (7, 13))
    edges = [0, 1, 127, 128, 129, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1, 5, 6, 7]
    ints[0] = edges
    lengths = np.array([10, 1, 20, 1, 18, 10, 10])
    features = {
        "ints": ints,
        "bits": ints % 2,
        "floats": rng.random((7, 300)).astype(np.float32),
        "bytes": [bytes([i]) * i * 40 for i in range(7)],
        "ragged": (ints.reshape(-1)[:70], lengths),
    }
    ends = np.cumsum(lengths)
    for row, serialized in enumerate(examples.serialize(features)):
        ragged = ints.reshape(-1)[ends[row] - lengths[row] : ends[row]]
        example = tf.train.Example(
            features=tf.train.Features(
                feature={
                    "ints": int_feature(ints[row]),
                    "bits": int_feature(ints[row] % 2),
                    "floats": tf.train.Feature(
                        float_list=tf.train.FloatList(value=features["floats"][row])
                    ),
                    "bytes": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[features["bytes"][row]])
                    ),
                    "ragged": int_feature(ragged),
                }
            )
        )
        assert serialized == example.SerializeToString(deterministic=True)


def int_feature(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def test_static_round_trip():
    features = {
        "input_ids": np.array([[2, 300, 3, 40000, 3, 0]]),
        "input_mask": np.array([[1, 1, 1, 1, 1, 0]]),
        "segment_ids": np.array([[0, 0, 0, 1, 1, 0]]),
        "token_boundary": np.array([[1, 1, 1, 0, 1, 0]]),
        "masked_lm_positions": np.array([[1, 0]]),
        "masked_lm_ids": np.array([[301, 0]]),
        "masked_lm_weights": np.array([[1, 0]], np.float32),
        "next_sentence_labels": np.array([[1]]),
    }
    serialized = tf.constant(examples.serialize(features))
    lengths = {"tokens": 6, "predictions": 2}
    parsed = examples.parse_padded("static", serialized, lengths, vocab_size=40001)
    assert parsed["sentence_order_labels"].numpy().tolist() == [1]
    for name in set(parsed) - {"sentence_order_labels"}:
        np.testing.assert_array_equal(parsed[name], features[name])
        wanted = tf.float32 if name == "masked_lm_weights" else tf.int32
        assert parsed[name].dtype == wanted


def test_dynamic_round_trip():
    starts = np.array([1, 1, 0, 1, 1, 0, 0, 1, 1, 1], np.bool_)
    serialized = examples.serialize(
        {
            "input_ids": (
                np.array([2, 9, 10, 3, 11, 300, 12, 13, 14, 3, 2, 7, 3]),
                np.array([10, 3]),
            ),
            "word_starts": [np.packbits(starts).tobytes(), b"\xe0"],
            "segment_b_start": np.array([[4], [3]]),
            "sentence_order_label": np.array([[1], [0]]),
        }
    )
    parsed = examples.parse_dynamic(
        tf.constant(serialized), 11, pad_id=0, vocab_size=301
    )
    values = {name: tensor.numpy().tolist() for name, tensor in parsed.items()}
    assert values["input_ids"] == [
        [2, 9, 10, 3, 11, 300, 12, 13, 14, 3, 0],
        [2, 7, 3, *[0] * 8],
    ]
    assert values["input_mask"] == [[1] * 10 + [0], [1] * 3 + [0] * 8]
    assert values["segment_ids"] == [[0] * 4 + [1] * 6 + [0], [0] * 11]
    assert values["word_starts"] == [[*starts, False], [True] * 3 + [False] * 8]
    assert values["sentence_order_labels"] == [1, 0]


def test_spare_bits_start_no_word():
    (serialized,) = examples.serialize(
        {
            "input_ids": np.array([[2, 3]]),
            "word_starts": [b"\xff"],
            "segment_b_start": np.array([[2]]),
            "sentence_order_label": np.array([[0]]),
        }
    )
    parsed = examples.parse_dynamic(tf.constant([serialized]), 4, 0, vocab_size=9)
    assert parsed["word_starts"].numpy().tolist() == [[True, True, False, False]]
