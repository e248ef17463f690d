"""Records give exactly the numbers that they hold, or are refused, in a graph, too."""

import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from data_pipeline.records import examples
from data_pipeline.records.schema import DRAWN
from data_pipeline.records.schema import FEATURES
from data_pipeline.records.schema import model_inputs
from data_pipeline.records.schema import sentence_on

_IDS, _LENGTH, _PAD = 300, 18, 7
_RIGHT = st.integers(0, _IDS - 1)


def test_inputs_of_a_model():
    every = {f.name for kind in (*FEATURES.values(), DRAWN) for f in kind}
    of_rows = {"input_ids", "input_mask", "segment_ids", "masked_lm_positions"}
    of_streams = {"reversed_rows", "query_order", "key_order", "target_positions"}
    of_packed = {"pair_ids", "cls_positions"}
    found = model_inputs(dict.fromkeys(every | {"x"}))
    assert {*found} == of_rows | of_streams | of_packed


def feature(values):
    first = values[0] if len(values) else 0
    if isinstance(first, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(first, float | np.floating):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def serialized(features):
    """Serializes by protocol buffers: our own serializer writes valid numbers alone."""
    made = {name: feature(values) for name, values in features.items()}
    example = tf.train.Example(features=tf.train.Features(feature=made))
    return example.SerializeToString(deterministic=True)


@given(
    ids=st.lists(_RIGHT, max_size=_LENGTH)
    | st.lists(_RIGHT | st.sampled_from([-1, _IDS, 2**32]), max_size=_LENGTH + 2),
    bits=st.binary(min_size=4, max_size=4),
    more=st.sampled_from([0, 0, 0, 1, -1]),
    b_start=st.integers(0, _LENGTH) | st.sampled_from([-1, _LENGTH + 1]),
    label=st.sampled_from([0, 1, 0, 1, -1, 2]),
)
def test_any_dynamic_record(ids, bits, more, b_start, label):
    starts = bits[: max(0, -(-len(ids) // 8) + more)]
    features = {
        "input_ids": ids,
        "word_starts": [starts],
        "segment_b_start": [b_start],
        "sentence_order_label": [label],
    }
    size = len(ids)
    right = size <= _LENGTH and all(0 <= i < _IDS for i in ids)
    right &= 0 <= b_start <= _LENGTH and label in (0, 1)
    right &= 0 <= 8 * len(starts) - size <= 7
    batch = tf.constant([serialized(features)])
    try:
        parsed = examples.parse_dynamic(batch, _LENGTH, _PAD, _IDS)
    except tf.errors.InvalidArgumentError:
        assert not right
        return
    assert right
    padding = _LENGTH - size
    found = {name: tensor[0].numpy().tolist() for name, tensor in parsed.items()}
    bits = np.unpackbits(np.frombuffer(starts, np.uint8))[:size].astype(bool).tolist()
    segments = [int(place >= b_start) for place in range(size)]
    assert found == {
        "input_ids": ids + [_PAD] * padding,
        "input_mask": [1] * size + [0] * padding,
        "segment_ids": segments + [0] * padding,
        "word_starts": bits + [False] * padding,
        "sentence_order_labels": label,
    }


_COLUMNS = st.dictionaries(
    st.sampled_from([*"abcd"]),
    st.tuples(st.sampled_from(["ints", "floats", "bytes", "ragged"]), st.integers(0)),
    min_size=1,
)


@given(columns=_COLUMNS, rows=st.integers(1, 4))
def test_records_are_those_of_protocol_buffers(columns, rows):
    features, lists = {}, [{} for _ in range(rows)]
    for name, (kind, seed) in columns.items():
        random = np.random.default_rng(seed)
        width = int(random.integers(1, 200))
        bound = int(random.choice([2, 128, 129, 2**14, 2**21, 2**28]))
        values = random.integers(0, bound, (rows, width))
        lengths = random.integers(1, width + 1, rows)
        if kind == "floats":
            features[name] = values = values.astype(np.float32)
        elif kind == "bytes":
            features[name] = [random.bytes(int(n)) for n in lengths]
            values = [[text] for text in features[name]]
        elif kind == "ints":
            features[name] = values
        else:
            values = [row[:n] for row, n in zip(values, lengths, strict=True)]
            features[name] = (np.concatenate(values), lengths)
        for row, own in zip(lists, values, strict=True):
            row[name] = own
    for written, row in zip(examples.serialize(features), lists, strict=True):
        assert written == serialized(row)


def test_lengths_of_one_two_and_three_bytes():
    for size in (*range(110, 135), *range(16_235, 16_390)):
        text = bytes(size)
        assert examples.serialize({"a": [text]}) == [serialized({"a": [text]})]


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
        (
            STATIC,
            {"input_ids": [0] * 5 + [37]},
            "id 37, .* vocab_size 37 .ids 0 to 36.",
        ),
        (STATIC, {"masked_lm_ids": [9, -1]}, "id -1, .* vocab_size 37"),
        (STATIC, {"masked_lm_weights": [float("nan"), 0.0]}, "masked_lm_weights of na"),
        (STATIC, {"segment_ids": [-1] * 6}, "segment_ids of -1, expected 0 to 1"),
        (DYNAMIC, {"input_ids": [2] * 7}, "number of input_ids of 7, expected 0 to 6"),
        (DYNAMIC, {"word_starts": [b"\xff\xff"]}, "spare bits of word_starts of 10"),
    ],
)
def test_numbers_out_of_range_are_told(features, changes, message):
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        read({**features, **changes})
    assert re.match(f"data holds (the |){message}", sentence_on("data", error.value))


_OF_ROWS = {  # the number of values and the largest, by name in records
    "input_ids": (TOKENS, VOCAB - 1),
    "input_mask": (TOKENS, 1),
    "segment_ids": (TOKENS, 1),
    "masked_lm_positions": (2, TOKENS - 1),
    "masked_lm_ids": (2, VOCAB - 1),
    "masked_lm_weights": (2, 1.0),
}
_BOUNDS = {
    "static": {**_OF_ROWS, "next_sentence_labels": (1, 1)},
    "packed": {
        **_OF_ROWS,
        "pair_ids": (TOKENS, 3),
        "cls_positions": (3, TOKENS - 1),
        "sentence_order_labels": (3, 1),
        "sentence_order_weights": (3, 1.0),
    },
    "permutation": {
        "input_ids": (TOKENS, VOCAB - 1),
        "segment_ids": (TOKENS, 2),
        "token_boundary": (TOKENS, 1),
        "reversed_rows": (1, 1),
        "stream_starts": (1, 1),
    },
}
_NAMES = {
    "next_sentence_labels": "sentence_order_labels",
    "token_boundary": "word_starts",
}


@pytest.mark.parametrize("kind", FEATURES)
def test_each_number_has_its_bound(kind):
    def parse(features):
        record, lengths = tf.constant([serialized(features)]), {**LENGTHS, "pairs": 3}
        return examples.parse_padded(kind, record, lengths, VOCAB)

    highest = {name: [most] * size for name, (size, most) in _BOUNDS[kind].items()}
    found = {name: np.ravel(values).tolist() for name, values in parse(highest).items()}
    assert found == {_NAMES.get(name, name): own for name, own in highest.items()}
    for name, (size, most) in _BOUNDS[kind].items():
        for wrong in (0 * most - 1, most + 1):
            wrong = {**highest, name: [0 * most] * (size - 1) + [wrong]}
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} 0 "):
                parse(wrong)


def test_without_a_vocabulary_ids_still_have_to_be_ids():
    features = {**STATIC, "input_ids": [2**31 - 1] * 6}
    read(features, None)
    for wrong in (-1, 2**31):
        message = f"range masked_lm_ids 0 {2**31 - 1}"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            read({**features, "masked_lm_ids": [9, wrong]}, None)
