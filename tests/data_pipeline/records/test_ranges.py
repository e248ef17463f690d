"""Numbers out of range are found inside of a graph, too, and users are told of them."""

import re

import pytest
import tensorflow as tf

from data_pipeline.records import examples
from data_pipeline.records.schema import sentence_on

TOKENS, VOCAB = 6, 37
LENGTHS = {"tokens": TOKENS, "predictions": 2}
STATIC = {
    "input_ids": [2, 36, 3, 9, 3, 0],
    "input_mask": [1, 1, 1, 1, 1, 0],
    "segment_ids": [0, 0, 0, 1, 1, 0],
    "masked_lm_positions": [5, 0],
    "masked_lm_ids": [36, 0],
    "masked_lm_weights": [1.0, 0.0],
    "next_sentence_labels": [1],
}
DYNAMIC = {
    "input_ids": [2, 36, 3, 9, 10, 3],
    "word_starts": [b"\xff"],
    "segment_b_start": [6],
    "sentence_order_label": [1],
}


def serialized(features):
    """Serializes by protocol buffers: our own serializer writes valid numbers alone."""

    def feature(values):
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    features = {name: feature(values) for name, values in features.items()}
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()


def read(features, vocab_size=VOCAB):
    """Parses a record inside of a dataset."""

    def parse(rows):
        if "word_starts" in features:
            return examples.parse_dynamic(rows, TOKENS, 0, vocab_size)
        return examples.parse_padded("static", rows, LENGTHS, vocab_size)

    rows = tf.data.Dataset.from_tensors([serialized(features)])
    return next(iter(rows.map(parse)))


@pytest.mark.parametrize(
    ("features", "changes", "message"),
    [
        (STATIC, {"input_ids": [37] * 6}, "id 37, .* vocab_size 37 .ids 0 to 36."),
        (STATIC, {"masked_lm_ids": [9, -1]}, "id -1, .* vocab_size 37"),
        (STATIC, {"masked_lm_positions": [6, 0]}, "masked_lm_positions of 6, expecte"),
        (STATIC, {"masked_lm_weights": [float("nan"), 0.0]}, "masked_lm_weights of na"),
        (STATIC, {"input_mask": [2] * 6}, "input_mask of 2, expected 0 to 1"),
        (STATIC, {"segment_ids": [-1] * 6}, "segment_ids of -1, expected 0 to 1"),
        (STATIC, {"next_sentence_labels": [2]}, "next_sentence_labels of 2, expected"),
        (DYNAMIC, {"input_ids": [2] * 7}, "number of input_ids of 7, expected 0 to 6"),
        (DYNAMIC, {"word_starts": [b"\xff\xff"]}, "spare bits of word_starts of 10"),
    ],
)
def test_numbers_out_of_range(features, changes, message):
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        read({**features, **changes})
    assert re.match(f"data holds (the |){message}", sentence_on("data", error.value))


def test_without_a_vocabulary_ids_still_have_to_be_ids():
    features = {**STATIC, "input_ids": [2**31 - 1] * 6, "masked_lm_ids": [9, -1]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="range masked_lm_ids 0"):
        read(features, None)
