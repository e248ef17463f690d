"""Records give exactly the numbers that they hold, or are refused."""

import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from data_pipeline.records import examples

_IDS = 300


_RIGHT = st.integers(0, _IDS - 1)


@given(
    ids=st.lists(_RIGHT, max_size=18)
    | st.lists(_RIGHT | st.sampled_from([-1, _IDS, 2**32]), max_size=20),
    bits=st.binary(min_size=4, max_size=4),
    more=st.sampled_from([0, 0, 0, 1, -1]),
    b_start=st.integers(0, 18) | st.sampled_from([-1, 19]),
    label=st.sampled_from([0, 1, 0, 1, -1, 2]),
)
def test_dynamic(ids, bits, more, b_start, label):
    starts = bits[: max(0, -(-len(ids) // 8) + more)]
    feature = {
        "input_ids": _ints(ids),
        "word_starts": _bytes(starts),
        "segment_b_start": _ints([b_start]),
        "sentence_order_label": _ints([label]),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    length, size = 18, len(ids)
    right = size <= length and all(0 <= i < _IDS for i in ids)
    right &= 0 <= b_start <= length and label in (0, 1)
    right &= 0 <= 8 * len(starts) - size <= 7
    batch = tf.constant([example.SerializeToString()])
    try:
        parsed = examples.parse_dynamic(batch, length, 7, _IDS)
    except tf.errors.InvalidArgumentError:
        assert not right
        return
    assert right
    padding = length - size
    found = {name: tensor[0].numpy().tolist() for name, tensor in parsed.items()}
    bits = np.unpackbits(np.frombuffer(starts, np.uint8))[:size].astype(bool).tolist()
    segments = [int(place >= b_start) for place in range(size)]
    assert found == {
        "input_ids": ids + [7] * padding,
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
        ints = random.integers(0, bound, (rows, width))
        lengths = random.integers(1, width + 1, rows)
        if kind == "floats":
            features[name] = ints.astype(np.float32)
            made = [_floats(row) for row in features[name]]
        elif kind == "bytes":
            features[name] = [random.bytes(int(n)) for n in lengths]
            made = [_bytes(row) for row in features[name]]
        elif kind == "ints":
            features[name] = ints
            made = [_ints(row) for row in ints]
        else:
            cut = [row[:n] for row, n in zip(ints, lengths, strict=True)]
            features[name] = (np.concatenate(cut), lengths)
            made = [_ints(row) for row in cut]
        for row, feature in zip(lists, made, strict=True):
            row[name] = feature
    for written, row in zip(examples.serialize(features), lists, strict=True):
        example = tf.train.Example(features=tf.train.Features(feature=row))
        assert written == example.SerializeToString(deterministic=True)


def _ints(row):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=row))


def _floats(row):
    return tf.train.Feature(float_list=tf.train.FloatList(value=row))


def _bytes(row):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[row]))
