"""Numbers out of range in records of every kind are found, wherever they are."""

import numpy as np
import pytest
import tensorflow as tf

from data_pipeline.records import examples
from data_pipeline.records.schema import out_of_range

TOKENS, PREDICTIONS, PAIRS, VOCAB = 6, 2, 2, 37
LENGTHS = {"tokens": TOKENS, "predictions": PREDICTIONS, "pairs": PAIRS}
STATIC = {
    "input_ids": [2, 36, 3, 9, 3, 0],
    "input_mask": [1, 1, 1, 1, 1, 0],
    "segment_ids": [0, 0, 0, 1, 1, 0],
    "masked_lm_positions": [5, 0],
    "masked_lm_ids": [36, 0],
    "masked_lm_weights": [1.0, 0.0],
    "next_sentence_labels": [1],
}
PACKED = {
    **{name: values for name, values in STATIC.items() if "sentence" not in name},
    "pair_ids": [1, 1, 1, 2, 2, 0],
    "cls_positions": [0, 5],
    "sentence_order_labels": [1, 0],
    "sentence_order_weights": [1.0, 1.0],
}
DYNAMIC = {
    "input_ids": [2, 36, 3, 9, 10, 3],
    "word_starts": [b"\xff"],
    "segment_b_start": [6],
    "sentence_order_label": [1],
}
FEATURES = {"static": STATIC, "packed": PACKED, "dynamic": DYNAMIC}


def serialized(features):
    """Serializes by protocol buffers: our own serializer writes valid numbers alone."""

    def feature(values):
        values = np.array(values)
        if values.dtype.kind == "S":
            value = tf.train.BytesList(value=values.tolist())
            return tf.train.Feature(bytes_list=value)
        if values.dtype.kind == "f":
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    features = {name: feature(values) for name, values in features.items()}
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()


def parse(kind, batch):
    if kind == "dynamic":
        return examples.parse_dynamic(batch, TOKENS, pad_id=0, vocab_size=VOCAB)
    return examples.parse_padded(kind, batch, LENGTHS, VOCAB)


def in_dataset(kind, batch):
    dataset = tf.data.Dataset.from_tensor_slices(batch).batch(len(batch))
    return next(iter(dataset.map(lambda rows: parse(kind, rows))))


READERS = pytest.mark.parametrize("read", [parse, in_dataset])


@READERS
@pytest.mark.parametrize("kind", FEATURES)
def test_the_bounds_themselves_are_in_range(read, kind):
    parsed = read(kind, [serialized(FEATURES[kind])] * 3)
    assert parsed["input_ids"].dtype == tf.int32
    assert parsed["input_ids"][2].numpy().max() == 36


IDS = [("input_ids", 1, bad, 36) for bad in (37, -1, 2**32 + 5, -(2**32) + 5)]
STATIC_OR_PACKED = [
    *IDS,
    ("input_mask", 1, 2, 1),
    ("segment_ids", 0, 7, 1),
    ("masked_lm_positions", 1, 6, 5),
    ("masked_lm_positions", 1, -1, 5),
    ("masked_lm_ids", 0, 37, 36),
    ("masked_lm_weights", 0, 2.0, 1),
    ("masked_lm_weights", 0, float("nan"), 1),
]
BAD = [
    *[("static", *case) for case in STATIC_OR_PACKED],
    ("static", "next_sentence_labels", 0, 2, 1),
    *[("packed", *case) for case in STATIC_OR_PACKED],
    ("packed", "pair_ids", 5, 3, 2),
    ("packed", "cls_positions", 1, 6, 5),
    ("packed", "sentence_order_labels", 1, -1, 1),
    ("packed", "sentence_order_weights", 0, -1.0, 1),
    *[("dynamic", *case) for case in IDS],
    ("dynamic", "segment_b_start", 0, 7, 6),
    ("dynamic", "sentence_order_label", 0, 2, 1),
]


@pytest.mark.slow
@READERS
@pytest.mark.parametrize(("kind", "name", "place", "bad", "highest"), BAD)
def test_numbers_out_of_range(read, kind, name, place, bad, highest):
    features = FEATURES[kind]
    values = list(features[name])
    values[place] = bad
    batch = [serialized(features), serialized({**features, name: values})]
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        read(kind, batch)
    found, number, largest = out_of_range(error.value)
    assert (found, largest) == (name, highest)
    assert np.isnan(bad) or float(number) == bad


@READERS
@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"input_ids": [2] * 7}, "number of input_ids"),
        ({"word_starts": [b"\xff\xff"]}, "spare bits of word_starts"),
        ({"word_starts": [b""]}, "spare bits of word_starts"),
    ],
)
def test_lists_of_other_lengths_in_dynamic_records(read, changes, name):
    batch = [serialized(DYNAMIC), serialized({**DYNAMIC, **changes})]
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        read("dynamic", batch)
    assert out_of_range(error.value)[0] == name


def test_without_a_vocabulary_ids_still_have_to_be_ids():
    features = {**STATIC, "input_ids": [2**31 - 1] * 6, "masked_lm_ids": [9, -1]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="range masked_lm_ids 0"):
        examples.parse_padded("static", [serialized(features)], LENGTHS, None)


def test_other_errors_are_none_of_ranges():
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        parse("static", [b"no example"])
    assert out_of_range(error.value) is None
