"""Stretches of texts in a graph: their texts and their cost."""

import random

import numpy as np
import tensorflow as tf

from albert_tf.tokenization.in_graph.origins import stretches
from albert_tf.tokenization.in_graph.origins import text_numbers

_HOSTILE = (
    "a\x00\x7f\u0301\ufdfa\ufffd\ufffe\uffff\U0001f600\U0010ffff\u2028\ud7ff\ue000"
)


def places(rng, text, count):
    first = [rng.randint(0, len(text)) for _ in range(count)]
    return first, [rng.randint(start, len(text)) for start in first]


def test_stretches():
    rng = random.Random(3)
    texts = ["", "a", *("".join(rng.choices(_HOSTILE, k=40)) for _ in range(5))]
    rows = [places(rng, text, rng.randint(0, 5)) for text in texts]
    first, last = (
        tf.ragged.constant([row[k] for row in rows], tf.int32) for k in (0, 1)
    )
    codes = tf.ragged.constant([list(map(ord, text)) for text in texts], tf.int32)
    encoded = [text.encode() for text in texts]
    decoded = tf.strings.unicode_decode(encoded, "UTF-8")
    assert decoded.to_list() == codes.to_list()
    assert stretches(decoded, first, last).to_list() == [
        [text[a:b].encode() for a, b in zip(*row, strict=True)]
        for text, row in zip(texts, rows, strict=True)
    ]


def test_numbers():
    rng = random.Random(5)
    compute = tf.function(text_numbers, autograph=False)
    for alphabet in ("a", "ab", _HOSTILE):
        text = "".join(rng.choices(alphabet, k=70))
        first, last = places(rng, text, 300)
        codes = tf.constant(list(map(ord, text)), tf.int32)
        found = compute(
            codes, tf.constant(first, tf.int64), tf.constant(last, tf.int64)
        )
        texts = [text[a:b] for a, b in zip(first, last, strict=True)]
        same = np.array(texts)[:, None] == np.array(texts)
        if "\x00" in alphabet:  # NumPy takes it for the end of a text
            same = np.array([[one == other for other in texts] for one in texts])
        np.testing.assert_array_equal(found[:, None] == found, same)
    nothing = tf.zeros([0], tf.int64)
    assert compute(tf.zeros([0], tf.int32), nothing, nothing).shape == [0]


def test_a_text_is_not_copied_for_each_stretch():
    # With a copy for each, these are 40 GB.
    codes = tf.tile([97, 98, 99, 32], [50_000])
    first = tf.range(0, 199_000, dtype=tf.int64)
    found = text_numbers(codes, first, first + 21)
    assert len(np.unique(found)) == 4
