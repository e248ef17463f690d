"""The TFRecord schema: serializing batches of `tf.train.Example`, and parsing.

Static records are the official ones (all lists padded to a fixed length):
int64 input_ids, input_mask, segment_ids, token_boundary [S]; int64
masked_lm_positions, masked_lm_ids, float masked_lm_weights [P]; int64
next_sentence_labels [1], which holds the sentence-order label.

Packed records hold up to K pairs. They are static ones with, for their labels, int64
sentence_order_labels and float sentence_order_weights [K] (0 where there is no pair),
int64 cls_positions [K], and int64 pair_ids [S], which count a row's pairs from 1 and
are 0 for padding. They lack next_sentence_labels, so that nothing that would mix the
pairs reads them by mistake.

Permutation records are segments of a stream, in its order: int64 input_ids,
segment_ids, token_boundary [S]; int64 reversed_rows [1], 1 for text that runs from its
last token to its first, and stream_starts [1], 1 where the segment continues no other.

Dynamic records are compact and unmasked: int64 input_ids, special tokens included,
without padding; bytes word_starts [1], a bit a token, first token in the highest
bit; int64 segment_b_start [1], the position of B's first token (the number of
tokens where there is no B); int64 sentence_order_label [1].
"""

import numpy as np
import tensorflow as tf

from data_pipeline.records import schema
from data_pipeline.records.schema import LARGEST_INT32
from data_pipeline.records.schema import within

_INT64_FIELD = b"\x1a"
_FLOAT_FIELD = b"\x12"
_BYTES_FIELD = b"\x0a"
# Indexed by the bytes of a varint less one: its continuation bits, its used bytes.
_MORE = np.array([0, 0x80, 0x8080, 0x808080], "<u4")
_USED = np.tri(4, dtype=np.bool_)
_BYTES = [bytes([value]) for value in range(256)]


def serialize(features):
    """Serializes a batch of `tf.train.Example`s.

    The wire format is written directly, a batch at a time: building the protocol
    buffers takes longer than all the rest of the pipeline.

    Args:
        features: dict of name to the values of n examples: an int array [n, k], a
            float32 array [n, k], a list of n bytes, or a pair of an int array of
            all values in a row and an int array [n] of lengths.

    Returns:
        A list of n bytes, features in order of their names.
    """
    columns = []
    for name, values in sorted(features.items()):
        field, payloads = _payloads(values)
        key = _field(b"\x0a", name.encode())
        columns.append([_entry(key, field, payload) for payload in payloads])
    rows = zip(*columns, strict=True)
    return [_field(b"\x0a", b"".join(row)) for row in rows]


def _payloads(values):
    """Returns the field of `tf.train.Feature` and each example's packed list."""
    if isinstance(values, list):
        return _BYTES_FIELD, values
    if isinstance(values, tuple):
        return _INT64_FIELD, _varints(*values)
    if values.dtype == np.float32:
        data = values.astype("<f4").tobytes()
        width = 4 * values.shape[1]
        return _FLOAT_FIELD, [data[i : i + width] for i in range(0, len(data), width)]
    lengths = np.full(len(values), values.shape[1])
    return _INT64_FIELD, _varints(values.reshape(-1), lengths)


def _varints(values, lengths):
    """Packs non-negative ints below 2**28 as varints, `lengths[i]` to example i."""
    ends = np.cumsum(lengths)
    if values.size and values.max() >= 128:
        values = values.astype("<u4")
        extra = (
            (values >> 7 > 0) * np.uint8(1) + (values >> 14 > 0) + (values >> 21 > 0)
        )
        # Seven bits go to each byte of a word; the highest bit says that more follow.
        words = values & 0x7F
        for byte in range(1, 4):
            words |= (values & (0x7F << 7 * byte)) << byte
        words |= _MORE[extra]
        packed = words.view(np.uint8)[_USED[extra].reshape(-1)]
        sizes = np.cumsum(extra, dtype=np.int64) + np.arange(1, len(extra) + 1)
        ends = np.concatenate([[0], sizes])[ends]
    else:
        packed = values.astype(np.uint8)
    data = packed.tobytes()
    ends = ends.tolist()
    starts = [0, *ends[:-1]]
    return [data[a:b] for a, b in zip(starts, ends, strict=True)]


def _entry(key, field, payload):
    feature = _field(field, _field(b"\x0a", payload))
    return _field(b"\x0a", key + _field(b"\x12", feature))


def _field(tag, data):
    """Returns a length-delimited field of the protocol-buffer wire format."""
    length = len(data)
    if length < 128:
        return tag + _BYTES[length] + data
    digits = bytearray(tag)
    while length >= 128:
        digits.append(length & 127 | 128)
        length >>= 7
    digits.append(length)
    return bytes(digits) + data


def parse_padded(kind, serialized, lengths, vocab_size, objective=None):
    """Parses a batch of records whose lists all have a fixed length.

    Args:
        kind: "static", "packed" or "permutation".
        serialized: string [B].
        lengths: the fixed lengths by their names, `schema.TOKENS`, `PREDICTIONS` and
            `PAIRS`, as far as records of the kind have them: a dict of ints.
        vocab_size: int, the bound that ids stay below; None if unknown.
        objective: the `--sentence_objective` of the data, if it has labels of its own.

    Returns:
        A dict of the features of `schema.FEATURES[kind]`.

    Raises:
        tf.errors.InvalidArgumentError: records of other lengths or of something
            else, or numbers out of range, see `schema.within`.
    """
    features = {
        feature.record_name or feature.name: feature
        for feature in schema.FEATURES[kind]
        if feature.objective in (None, objective)
    }
    # Records hold a single number as a list of one.
    lengths = {**lengths, schema.ONE: 1}
    largest = {
        schema.AN_ID: _largest_id(vocab_size),
        schema.A_POSITION: lengths[schema.TOKENS] - 1,
        schema.A_PAIR: lengths.get(schema.PAIRS),
    }
    stored = {
        name: tf.io.FixedLenFeature(
            [lengths[feature.length]],
            tf.float32 if feature.dtype == tf.float32 else tf.int64,
        )
        for name, feature in features.items()
    }
    batch = {}
    for name, values in tf.io.parse_example(serialized, stored).items():
        feature = features[name]
        highest = largest.get(feature.largest, feature.largest)
        values = within(name, values, highest)
        batch[feature.name] = values[:, 0] if feature.length == schema.ONE else values
    return batch


def _largest_id(vocab_size):
    return LARGEST_INT32 if vocab_size is None else vocab_size - 1


def parse_dynamic(serialized, tokens, pad_id, vocab_size):
    """Parses a batch of dynamic records.

    Args:
        serialized: string [B].
        tokens: int, the length S to pad to.
        pad_id: int, the id to pad with.
        vocab_size: int, the bound that ids stay below.

    Returns:
        A dict of int32 input_ids, input_mask, segment_ids and bool word_starts
        [B, S], and int32 sentence_order_labels [B].

    Raises:
        tf.errors.InvalidArgumentError: as `parse_padded`.
    """
    parsed = tf.io.parse_example(
        serialized,
        {
            "input_ids": tf.io.RaggedFeature(tf.int64),
            "word_starts": tf.io.FixedLenFeature([], tf.string),
            "segment_b_start": tf.io.FixedLenFeature([], tf.int64),
            "sentence_order_label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    ids = parsed["input_ids"]
    lengths = within("number of input_ids", ids.row_lengths(), tokens)
    ids = ids.with_values(within("input_ids", ids.values, _largest_id(vocab_size)))
    b_starts = within("segment_b_start", parsed["segment_b_start"], tokens)
    labels = within("sentence_order_label", parsed["sentence_order_label"], 1)
    positions = tf.range(tokens)
    real = positions < lengths[:, None]  # [B, S]
    in_b = positions >= b_starts[:, None]
    starts = _unpack_bits(parsed["word_starts"], lengths, tokens)
    return {
        "input_ids": ids.to_tensor(pad_id, shape=[None, tokens]),
        "input_mask": tf.cast(real, tf.int32),
        "segment_ids": tf.cast(real & in_b, tf.int32),
        "word_starts": real & starts,
        "sentence_order_labels": labels,
    }


def _unpack_bits(packed, lengths, tokens):
    """Unpacks strings of `lengths[i]` bits, padded to whole bytes.

    Returns:
        bool `[B, S]`, anything behind the first `lengths[i]`.
    """
    spare = tf.cast(8 * tf.strings.length(packed) - lengths, tf.int64)
    num_bytes = -(-tokens // 8)
    with tf.control_dependencies([within("spare bits of word_starts", spare, 7)]):
        packed = tf.io.decode_raw(packed, tf.uint8, fixed_length=num_bytes)
    bits = tf.constant([128, 64, 32, 16, 8, 4, 2, 1], tf.uint8)
    starts = tf.not_equal(packed[:, :, None] & bits, 0)  # [B, S / 8, 8]
    return tf.reshape(starts, [-1, 8 * num_bytes])[:, :tokens]  # [B, S]
