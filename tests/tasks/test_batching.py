"""Rows of tokens: truncation, batches, resume, cache, outputs, Keras' training."""

import collections
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.row_layout import CLS_FIRST
from albert_tf.tasks import fitting
from albert_tf.tasks import prediction
from albert_tf.tasks.batching import BUCKETS
from albert_tf.tasks.batching import FINE_BUCKETS
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.batching import features_and_labels
from albert_tf.tasks.batching import training_dataset
from albert_tf.tasks.examples import Table
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import cached_tokens
from albert_tf.tasks.tokenized_examples import tokenize_texts
from albert_tf.tokenization.features import truncated_lengths
from albert_tf.tokenization.tokenizer import OFFICIAL
from tests.tasks.conftest import numbered_rows


class _Letters:
    """One token a letter."""

    cls_id, sep_id, pad_id = 2, 3, 0
    layout = usual_layout = CLS_FIRST
    rules = OFFICIAL

    calls = 0

    def encode_flat(self, texts):
        self.calls += 1
        ids = [10 + ord(c) - ord("a") for c in "".join(texts)]
        return np.array(ids, np.int32), np.array([len(t) for t in texts], np.int32)

    def fingerprint(self):
        return "letters"


def test_truncation_equals_the_official_loop():
    pairs = np.array([(a, b) for a in range(14) for b in range(14)])
    for room in (2, 5, 8, 9):
        expected = pairs.copy()
        for lengths in expected:
            while lengths.sum() > room:
                lengths[0 if lengths[0] > lengths[1] else 1] -= 1
        ours = truncated_lengths(pairs[:, 0], pairs[:, 1], room)
        np.testing.assert_array_equal(np.stack(ours, axis=1), expected)


def test_rows_of_texts_and_pairs():
    single = tokenize_texts(["abcdef", ""], None, _Letters(), 6)
    assert single.ids.tolist() == [2, 10, 11, 12, 13, 3, 2, 3]
    assert single.lengths.tolist() == [6, 2]
    pair = tokenize_texts(["abcd"], ["ef"], _Letters(), 8, labels=np.array([1]))
    for pairs, least in ((None, 4), (["ef"], 5)):
        rows = tokenize_texts(["abcd"], pairs, _Letters(), least)
        assert rows.lengths.tolist() == [least]
        with pytest.raises(UserError, match=f"={least - 1} leaves no room.* 5 or more"):
            tokenize_texts(["abcd"], pairs, _Letters(), least - 1)
    assert pair.ids.tolist() == [2, 10, 11, 12, 3, 14, 15, 3]
    assert pair.first_lengths.tolist() == [5]
    batch = next(iter(evaluation_dataset(pair, 4, 10, pad_to_max_length=True)))
    assert batch["input_mask"].numpy().tolist() == [[1] * 8 + [0] * 2]
    assert batch["segment_ids"].numpy().tolist() == [[0] * 5 + [1] * 3 + [0] * 2]
    assert batch["input_ids"].numpy()[0, 8:].tolist() == [0, 0]
    features, labels = features_and_labels(batch)
    assert set(features) == {"input_ids", "input_mask", "segment_ids"}
    assert labels.numpy().tolist() == [1]


# Several windows, one, or less than a batch.
@pytest.mark.parametrize(
    ("rows", "padded"), [(3, True), (3, False), (40, False), (301, False)]
)
def test_one_epoch_without_repeating(rows, padded):
    lengths = np.random.default_rng(0).integers(2, 17, rows)
    dataset = training_dataset(numbered_rows(lengths), 4, 16, 1, padded, repeat=False)
    assert dataset.cardinality() == -(-rows // 4)
    orders, rests = [], set()
    for _ in range(2 if rows > 3 else 1):
        batches = [batch["labels"].numpy().tolist() for batch in dataset]
        assert [len(batch) for batch in batches].count(4) == rows // 4
        orders.append(sum(batches, []))
        assert sorted(orders[-1]) == list(range(rows))
        rests |= {tuple(batch) for batch in batches if len(batch) < 4}
    # The rest of an epoch is any row, whatever its length.
    assert rows != 301 or (orders[0] != orders[1] and len(rests) == 2)


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
    lengths = np.array([3, 16, 17, 32, 40, 3, 20])
    dataset = training_dataset(numbered_rows(lengths), 2, 40, seed=0)
    seen = collections.Counter()
    for batch in dataset.take(35):  # ten epochs of seven rows
        ids, rows = batch["input_ids"].numpy(), batch["labels"].numpy()
        width, longest = ids.shape[1], lengths[rows].max()
        assert {16: 0, 32: 16, 40: 32}[width] < longest <= width
        np.testing.assert_array_equal(ids[:, 0], rows)
        real = np.arange(width) < lengths[rows, None]
        np.testing.assert_array_equal(batch["input_mask"], real)
        seen.update(rows.tolist())
    assert set(seen) == set(range(7))
    assert max(seen.values()) - min(seen.values()) <= 2
    # Evaluation keeps the order, and the last short batch.
    dataset = evaluation_dataset(numbered_rows([3, 20, 4]), 2, 64)
    assert [b["labels"].numpy().tolist() for b in dataset] == [[0, 1], [2]]
    assert [b["input_ids"].shape[1] for b in dataset] == [32, 16]
    for buckets, step in ((BUCKETS, 16), (FINE_BUCKETS, 4)):
        assert [*buckets] == sorted({*buckets}) and buckets[-1] == 512
        assert not any(size % step for size in buckets)


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


def test_the_cache_is_used_and_never_stale_or_damaged(tmp_path):
    def cached(texts="ab c", length=8, tokenizer=None):
        tokenizer = tokenizer or _Letters()
        table = Table("t.tsv", texts.split(), None, np.array([7, 7]), np.arange(2))
        task = create_task("regression", "t")
        found = cached_tokens(task, table, tokenizer, length, tmp_path)
        return found.ids.tolist(), found.labels.tolist(), tokenizer.calls

    first = cached()
    assert first == ([2, 10, 11, 3, 2, 12, 3], [7, 7], 1)
    assert cached() == (*first[:2], 0)
    (path,) = tmp_path.iterdir()
    for damaged in (b"no zip", path.read_bytes()[:-30]):
        path.write_bytes(damaged)
        assert cached() == first
        assert cached() == (*first[:2], 0)
    other = _Letters()
    other.fingerprint = lambda: "other"
    for changes in ({"texts": "ab d"}, {"length": 6}, {"tokenizer": other}):
        assert cached(**changes)[2] == 1
    assert len(list(tmp_path.iterdir())) == 4


def _first_and_all(features, training):
    ids = tf.cast(features["input_ids"], tf.float32)
    tokens = ids * tf.cast(features["input_mask"], "float")
    return {"first": ids[:, 0], "tokens": tokens}


def test_rows_keep_their_order_whatever_their_length():
    lengths = [9, 2, 20, 2, 5]
    found = prediction.OutputsPredictor(_first_and_all, 2, 24)(numbered_rows(lengths))
    assert found["first"].tolist() == [0, 1, 2, 3, 4]
    assert found["tokens"].sum(axis=1).tolist() == [0, 2, 40, 6, 20]
    found = prediction.joined([np.ones((1, 2)), np.full((2, 3), 5)])
    assert found.tolist() == [[1, 1, 0], [5, 5, 5], [5, 5, 5]]


def test_of_several_dev_sets_the_first_has_the_plain_names():
    task = create_task("regression", "t", metrics=("MSE",))
    sets = {
        name: Prepared(None, numbered_rows([3, 4], np.float32([0, shift])))
        for name, shift in (("dev", 1), ("other", 3))
    }

    def first(features, training):
        return _first_and_all(features, training)["first"][:, None]

    predictor = prediction.OutputsPredictor(first, 2, 8)
    scores = prediction.DevEvaluator(task, predictor).evaluate(sets)
    assert scores == {"MSE": 0, "loss": 0, "other_MSE": 2, "other_loss": 2}
    # NaN is no answer.
    numbers = {"a": np.zeros(3), "b": np.array([[0, 1], [0, np.nan], [np.nan, 0]])}
    with pytest.raises(UserError, match="answers NaN to input 2: its weights"):
        prediction.require_numbers(numbers)
    del numbers["b"]
    assert prediction.require_numbers(numbers) is numbers


class Noted:
    """A model that notes what it is to be trained with."""

    distribute_strategy = trainable_weights = None

    def compile(self, optimizer, loss, metrics):
        self.optimizer, self.metrics = optimizer, metrics
        optimizer.built = True

    def fit(self, batches, validation_data, **settings):
        self.settings = settings
        self.epochs = [_labels(batches) for _ in range(settings["epochs"])]
        self.held_out = validation_data and _labels(validation_data)
        return types.SimpleNamespace(params={})


def _labels(batches):
    return [labels.numpy().tolist() for _, labels in batches]


def _fitted(**changes):
    model = Noted()
    settings = {"max_length": 8, "epochs": 2, "batch_size": 4, "learning_rate": 1e-2}
    fitting.fit(model, numbered_rows([3] * 38), "mse", **{**settings, **changes})
    return model


def test_each_epoch_is_shuffled_by_the_seed():
    model = _fitted(seed=1, held_out=numbered_rows([3, 7, 2, 5, 4]))
    first, second = (sum(epoch, []) for epoch in model.epochs)
    assert sorted(first) == sorted(second) == list(range(38)) and first != second
    assert [len(batch) for batch in model.epochs[0]].count(4) == 9
    assert model.held_out == [[0, 1, 2, 3], [4]]
    assert model.settings == {"epochs": 2, "shuffle": False}
    assert _fitted(seed=1, callbacks=[]).epochs == model.epochs
    assert _fitted(seed=2).epochs != model.epochs


def test_the_rate_rises_for_a_tenth_of_the_steps():
    schedule = _fitted(epochs=4).optimizer._learning_rate  # 40 steps
    rates = [float(schedule(step)) for step in (0, 2, 4, 22, 40)]
    np.testing.assert_allclose(rates[:2], [0, 5e-3], atol=1e-8)
    assert rates[2] > rates[3] > rates[4] == pytest.approx(0, abs=1e-8)
    own = keras.optimizers.SGD(0.5)
    assert _fitted(optimizer=own).optimizer is own


@pytest.mark.parametrize("kind", ["multi_label", "regression"])
def test_losses_and_metrics_are_kept_with_their_task(kind):
    names = {"labels": ("a", "b")} if kind == "multi_label" else {}
    task = create_task(kind, "t", **names)
    outputs = np.float32([[1, -1], [2, 3]])[:, : task.num_outputs]
    labels = np.float32([[1, 0], [1, 0]]) if names else np.float32([2, 4])
    loss = fitting.TaskLoss.from_config(fitting.TaskLoss(task).get_config())
    expected = task.mean_loss(labels, outputs)
    assert float(loss(labels, outputs)) == pytest.approx(expected)
    assert task.has_accuracy == bool(names)
    if names:
        config = fitting.TaskAccuracy(task).get_config()
        metric = fitting.TaskAccuracy.from_config(config)
        assert float(metric(tf.constant(labels), outputs)) == 0.5
