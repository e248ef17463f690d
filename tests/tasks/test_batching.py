"""Batches: truncation, segments, full shuffle, buckets, exact resume."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.row_layout import CLS_FIRST
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.batching import features_and_labels
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.examples import Table
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.features import truncated_lengths
from albert_tf.tokenization.tokenizer import OFFICIAL
from tests.tasks.conftest import numbered_rows

_TASK = create_task("regression", "t")


class _Letters:
    """One token a letter."""

    cls_id, sep_id, pad_id = 2, 3, 0
    layout = usual_layout = CLS_FIRST
    rules = OFFICIAL

    def __init__(self):
        self.calls = 0

    def encode_flat(self, texts):
        self.calls += 1
        ids = [10 + ord(c) - ord("a") for c in "".join(texts)]
        return np.array(ids, np.int32), np.array([len(t) for t in texts], np.int32)

    def fingerprint(self):
        return "letters"


def _official_truncation(first, second, room):
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@pytest.mark.parametrize("room", [2, 5, 8, 9])
def test_truncation_equals_the_official_loop(room):
    pairs = np.array([(a, b) for a in range(14) for b in range(14)])
    expected = [_official_truncation(a, b, room) for a, b in pairs]
    ours = truncated_lengths(pairs[:, 0], pairs[:, 1], room)
    np.testing.assert_array_equal(np.stack(ours, axis=1), expected)


def test_rows_of_texts_and_pairs():
    single = tokenize_texts(["abcdef", ""], None, _Letters(), 6)
    assert single.ids.tolist() == [2, 10, 11, 12, 13, 3, 2, 3]
    assert single.lengths.tolist() == [6, 2]
    pair = tokenize_texts(["abcd"], ["ef"], _Letters(), 8, labels=np.array([1]))
    assert pair.ids.tolist() == [2, 10, 11, 12, 3, 14, 15, 3]
    assert pair.first_lengths.tolist() == [5]
    batch = next(iter(evaluation_dataset(pair, 4, 10, pad_to_max_length=True)))
    assert batch["input_mask"].numpy().tolist() == [[1] * 8 + [0] * 2]
    assert batch["segment_ids"].numpy().tolist() == [[0] * 5 + [1] * 3 + [0] * 2]
    assert batch["input_ids"].numpy()[0, 8:].tolist() == [0, 0]
    features, labels = features_and_labels(batch)
    assert set(features) == {"input_ids", "input_mask", "segment_ids"}
    assert labels.numpy().tolist() == [1]


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("rows", [3, 40, 301])
def test_one_epoch_without_repeating(rows, padded):
    lengths = np.random.default_rng(0).integers(2, 17, rows)
    dataset = training_dataset(
        numbered_rows(lengths), 4, 16, 1, padded, repeat=False
    )  # several windows, one, or less than a batch
    assert dataset.cardinality() == -(-rows // 4)
    orders = []
    for _ in range(2):
        batches = list(dataset)
        assert [len(batch["labels"]) for batch in batches].count(4) == rows // 4
        orders.append([n for batch in batches for n in batch["labels"].numpy()])
        assert sorted(orders[-1]) == list(range(rows))
    assert rows == 3 or orders[0] != orders[1]


def test_the_rest_of_an_epoch_has_any_length():
    dataset = training_dataset(numbered_rows(range(2, 15)), 4, 16, 1, repeat=False)
    (short,) = {len(batch["labels"]) for batch in dataset if len(batch["labels"]) < 4}
    assert short == 1
    rests = set()
    for _ in range(6):
        rests |= {b["labels"].numpy()[0] for b in dataset if len(b["labels"]) == 1}
    assert len(rests) > 1


@pytest.mark.slow
def test_the_order_follows_from_the_seed_alone():
    """TensorFlow's own seed, which a user may set for other things, changes nothing."""
    orders = []
    for own in (1, 2):
        tf.random.set_seed(own)
        for seed in (0, 7):
            batches = training_dataset(numbered_rows([4] * 48), 16, 64, seed).take(6)
            orders.append([batch["labels"].numpy().tolist() for batch in batches])
    assert orders[:2] == orders[2:]
    assert orders[0] != orders[1]
    first, second = sum(orders[0][:3], []), sum(orders[0][3:], [])
    assert sorted(first) == sorted(second) == list(range(48))
    assert first != second


def test_rows_of_similar_length_meet_and_none_is_lost():
    lengths = [3, 16, 17, 32, 40, 3, 20]
    dataset = training_dataset(numbered_rows(lengths), 2, 40, seed=0)
    seen = collections.Counter()
    for batch in dataset.take(35):  # ten epochs of seven rows
        width = batch["input_ids"].shape[1]
        longest = int(tf.reduce_max(tf.reduce_sum(batch["input_mask"], axis=1)))
        assert width in (16, 32, 40)
        assert {16: 0, 32: 16, 40: 32}[width] < longest <= width
        rows = batch["labels"].numpy()
        np.testing.assert_array_equal(batch["input_ids"][:, 0], rows)
        np.testing.assert_array_equal(
            tf.reduce_sum(batch["input_mask"], axis=1), np.take(lengths, rows)
        )
        seen.update(rows.tolist())
    assert set(seen) == set(range(7))
    assert max(seen.values()) - min(seen.values()) <= 2


def test_windows_are_sorted_and_their_batches_shuffled():
    lengths = np.random.default_rng(0).integers(3, 60, 64)
    found = [[], []]
    dataset = training_dataset(numbered_rows(lengths), 8, 64, 5, buckets=range(1, 65))
    for number, batch in enumerate(dataset.take(16)):
        found[number // 8].append(sorted(lengths[batch["labels"]].tolist()))
        assert batch["input_ids"].shape[1] == found[number // 8][-1][-1]
    for epoch in found:
        assert sum(sorted(epoch), []) == sorted(lengths.tolist())
        assert epoch != sorted(epoch)
    assert found[0] != found[1]


def test_evaluation_keeps_order_and_the_last_short_batch():
    dataset = evaluation_dataset(numbered_rows([3, 20, 4]), 2, 64)
    assert [b["labels"].numpy().tolist() for b in dataset] == [[0, 1], [2]]
    assert [b["input_ids"].shape[1] for b in dataset] == [32, 16]


def test_position_is_restored_from_a_checkpoint(tmp_path):
    examples = numbered_rows(np.random.default_rng(0).integers(3, 60, 50))
    iterator = iter(training_dataset(examples, 4, 64, seed=1))
    for _ in range(17):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "position"))
    expected = [next(iterator)["labels"].numpy().tolist() for _ in range(30)]
    fresh = iter(training_dataset(examples, 4, 64, seed=1))
    tf.train.Checkpoint(iterator=fresh).restore(path)
    assert [next(fresh)["labels"].numpy().tolist() for _ in range(30)] == expected


def _table(*texts):
    """A `Table` of single texts, all labelled 7."""
    rows = np.arange(len(texts))
    return Table("t.tsv", list(texts), None, np.array([7] * len(texts)), rows)


def test_cache_is_used_and_never_stale(tmp_path):
    tokenizer = _Letters()
    first = cached_tokens(_TASK, _table("ab", "c"), tokenizer, 8, tmp_path)
    second = cached_tokens(_TASK, _table("ab", "c"), tokenizer, 8, tmp_path)
    assert tokenizer.calls == 1
    np.testing.assert_array_equal(first.ids, second.ids)
    assert second.labels.tolist() == [7, 7]
    cached_tokens(_TASK, _table("ab", "d"), tokenizer, 8, tmp_path)
    cached_tokens(_TASK, _table("ab", "c"), tokenizer, 6, tmp_path)
    tokenizer.fingerprint = lambda: "other"
    cached_tokens(_TASK, _table("ab", "c"), tokenizer, 8, tmp_path)
    assert tokenizer.calls == 4
    assert len(list(tmp_path.iterdir())) == 4


def test_a_damaged_cache_is_made_again(tmp_path):
    first = cached_tokens(_TASK, _table("ab", "c"), _Letters(), 8, tmp_path)
    (path,) = tmp_path.iterdir()
    for damaged in (b"no zip", path.read_bytes()[:-30]):
        path.write_bytes(damaged)
        for calls in (1, 0):
            tokenizer = _Letters()
            again = cached_tokens(_TASK, _table("ab", "c"), tokenizer, 8, tmp_path)
            assert tokenizer.calls == calls
            np.testing.assert_array_equal(again.ids, first.ids)
