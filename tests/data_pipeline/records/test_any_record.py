"""Records give exactly the numbers that they hold, or are refused."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.errors import UserError
from data_pipeline.input_pipeline import pretraining_dataset
from data_pipeline.records import examples
from data_pipeline.records.schema import sentence_on
from tools.fuzz.inputs import damaged

_TOKENS, _PREDICTIONS, _PAIRS, _IDS = 4, 2, 3, 300
_LENGTHS = {"tokens": _TOKENS, "predictions": _PREDICTIONS, "pairs": _PAIRS}
_STATIC = {
    "input_ids": (_TOKENS, _IDS - 1),
    "input_mask": (_TOKENS, 1),
    "segment_ids": (_TOKENS, 1),
    "masked_lm_positions": (_PREDICTIONS, _TOKENS - 1),
    "masked_lm_ids": (_PREDICTIONS, _IDS - 1),
    "masked_lm_weights": (_PREDICTIONS, 1.0),
    "next_sentence_labels": (1, 1),
}
_PACKED = {
    **{name: sizes for name, sizes in _STATIC.items() if "next" not in name},
    "pair_ids": (_TOKENS, _PAIRS),
    "cls_positions": (_PAIRS, _TOKENS - 1),
    "sentence_order_labels": (_PAIRS, 1),
    "sentence_order_weights": (_PAIRS, 1.0),
}
_INT64 = st.integers(-(2**63), 2**63 - 1)


def values_of(largest):
    """Numbers in range, most of the time, and of the right type."""
    if isinstance(largest, float):
        # TensorFlow compares subnormal numbers as if they were 0.
        return (
            st.floats(0, largest, width=32),
            st.floats(width=32, allow_subnormal=False),
        )
    outside = st.sampled_from([-1, largest + 1, 2**31, 2**32, 2**32 + largest])
    return st.integers(0, largest), outside | _INT64


@st.composite
def records(draw, schema):
    """Draws a schema's record, right or wrong in one place: {name: list of numbers}."""
    record = {}
    wrong = draw(st.sampled_from([None, None, None, *schema]))
    for name, (length, largest) in schema.items():
        inside, outside = values_of(largest)
        values = draw(st.lists(inside, min_size=length, max_size=length))
        if name == wrong:
            place = draw(st.integers(0, length))
            if draw(st.integers(0, 3)):
                values[place : place + 1] = [draw(outside)]
            else:
                values = None if place else values[1:]
        record[name] = values
    return {name: values for name, values in record.items() if values is not None}


def serialized(record):
    features = {}
    for name, values in record.items():
        if any(isinstance(value, float) for value in values):
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=values))
        else:
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        features[name] = feature
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString()


def is_right(record, schema):
    return record.keys() == schema.keys() and all(
        len(record[name]) == length and all(0 <= v <= largest for v in record[name])
        for name, (length, largest) in schema.items()
    )


def check(parse, contents, record, schema):
    """Bytes that hold a record are read as it, or refused if it breaks the schema."""
    found = read(parse, contents)
    if found is None:
        assert not is_right(record, schema)
        return
    assert is_right(record, schema)
    for name, values in record.items():
        expected = np.asarray(values, found[name].dtype)
        np.testing.assert_array_equal(found[name], expected)


def read(parse, contents):
    """Returns the record {name: array} that bytes are read as, or None."""
    try:
        parsed = parse(tf.constant([contents]))
    except (tf.errors.InvalidArgumentError, UnicodeDecodeError):
        return None
    if "cls_positions" not in parsed:
        parsed["next_sentence_labels"] = parsed.pop("sentence_order_labels")
    return {name: np.ravel(values) for name, values in parsed.items()}


def parse_static(batch):
    return examples.parse_padded("static", batch, _LENGTHS, _IDS)


def parse_packed(batch):
    return examples.parse_padded("packed", batch, _LENGTHS, _IDS)


@given(record=records(_STATIC))
def test_static(record):
    check(parse_static, serialized(record), record, _STATIC)


@given(record=records(_PACKED))
def test_packed(record):
    check(parse_packed, serialized(record), record, _PACKED)


@given(record=records(_STATIC), data=st.data())
def test_a_damaged_record(record, data):
    contents = data.draw(damaged(serialized(record)))
    try:
        features = tf.train.Example.FromString(contents).features.feature
    except DecodeError:
        # TensorFlow's parser forgives a length that reaches beyond the end.
        found = read(parse_static, contents)
        assert found is None or is_right(found, _STATIC)
    else:
        record = {name: values_of_feature(features[name]) for name in [*features]}
        check(parse_static, contents, record, _STATIC)


def values_of_feature(feature):
    kind = feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


@given(
    ids=st.lists(
        st.integers(0, _IDS - 1) | st.sampled_from([-1, _IDS, 2**32]), max_size=20
    ),
    starts=st.binary(max_size=3),
    b_start=st.integers(-1, 20),
    label=st.integers(-1, 2),
)
def test_dynamic(ids, starts, b_start, label):
    feature = {
        "input_ids": tf.train.Feature(int64_list=tf.train.Int64List(value=ids)),
        "word_starts": tf.train.Feature(bytes_list=tf.train.BytesList(value=[starts])),
        "segment_b_start": tf.train.Feature(
            int64_list=tf.train.Int64List(value=[b_start])
        ),
        "sentence_order_label": tf.train.Feature(
            int64_list=tf.train.Int64List(value=[label])
        ),
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
    found = {name: tensor.numpy().tolist()[0:1][0] for name, tensor in parsed.items()}
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


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of three static records, and its bytes."""
    path = tmp_path_factory.mktemp("records") / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(3):
            record = {name: [0] * length for name, (length, _) in _STATIC.items()}
            record["input_ids"] = [number + 1] * _TOKENS
            record["masked_lm_weights"] = [1.0] * _PREDICTIONS
            writer.write(serialized(record))
    return path, path.read_bytes()


@pytest.mark.slow
@given(data=st.data())
def test_a_damaged_file_is_named(file, data):
    path, contents = file
    path.write_bytes(data.draw(damaged(contents)))
    rows = []
    try:
        for batch in pretraining_dataset(
            str(path), None, 1, _TOKENS, _PREDICTIONS, 1, False, vocab_size=_IDS
        ):
            rows.append(batch["input_ids"].numpy()[0].tolist())
    except UserError as error:
        assert str(path) in str(error)
    except (tf.errors.OpError, UnicodeDecodeError) as error:
        assert sentence_on(path, error) or isinstance(error, tf.errors.DataLossError)
    # A checksum covers each record: what is read is what was written.
    assert rows == [[number + 1] * _TOKENS for number in range(len(rows))]
