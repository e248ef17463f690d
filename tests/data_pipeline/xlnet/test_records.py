"""Records of streams: boundaries in reversed text, and passes."""

import collections
import types

import numpy as np
import tensorflow as tf

from data_pipeline.sequences.instances import Window
from data_pipeline.xlnet import records


def test_documents_end_as_the_vocabulary_says():
    theirs = types.SimpleNamespace(pieces=("a", "<mask>", "<eod>"), mask_id=1)
    ours = types.SimpleNamespace(pieces=("a", "[MASK]"), mask_id=1)
    assert (records.end_of_document(theirs), records.end_of_document(ours)) == (2, 1)


def written(passes):
    """Returns (input_ids, token_boundary, reversed) of a small window's segments."""
    ids = np.arange(10, 60)
    window = Window(ids, ids % 3 == 0, list(range(0, 51, 5)), [0, 10])
    tokenizer = types.SimpleNamespace(pieces=("[MASK]",), mask_id=0, sep_id=1, cls_id=2)
    options = types.SimpleNamespace(
        tokenizer=tokenizer, bi_data=True, max_seq_length=16
    )
    counts = collections.Counter()
    found = []
    for some in records.records(window, options, passes, (7,), counts):
        for record in some:
            values = tf.train.Example.FromString(record).features.feature
            found.append(
                tuple(
                    tuple(values[name].int64_list.value)
                    for name in ("input_ids", "token_boundary", "reversed_rows")
                )
            )
    return found


def test_each_token_keeps_its_boundary_in_reversed_text():
    rows = written(1)
    assert {reversed_row for _, _, (reversed_row,) in rows} == {0, 1}
    for ids, boundaries, _ in rows:
        assert boundaries == tuple(int(i < 10 or i % 3 == 0) for i in ids)


def test_each_pass_splits_the_texts_anew():
    rows = written(2)
    half = len(rows) // 2
    assert rows[:half] == written(1)
    assert rows[half:] != rows[:half]
