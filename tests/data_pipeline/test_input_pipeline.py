"""Batches for training, of data sets that fit."""

import json
import pathlib
import shutil
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from data_pipeline import input_pipeline
from data_pipeline.input_pipeline import pretraining_dataset


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_features_and_masks_are_valid(make_dataset, tokenizer, kind):
    dataset = make_dataset(kind)
    long, short = ((8, 32), tf.int32), ((8, 5), tf.int32)
    spec = dataset.element_spec
    assert {name: (tuple(s.shape), s.dtype) for name, s in spec.items()} == {
        "input_ids": long,
        "input_mask": long,
        "segment_ids": long,
        "masked_lm_positions": short,
        "masked_lm_ids": short,
        "masked_lm_weights": ((8, 5), tf.float32),
        "sentence_order_labels": ((8,), tf.int32),
    }
    batch = next(iter(dataset.as_numpy_iterator()))
    lengths = batch["input_mask"].sum(axis=1)
    budget = np.array([min(5, max(1, round(0.15 * int(n)))) for n in lengths])
    predictions = batch["masked_lm_weights"].sum(axis=1)
    assert (predictions <= budget).all()
    assert predictions.sum() > 0.8 * budget.sum()
    real = batch["masked_lm_weights"] == 1
    ids, positions = batch["input_ids"], batch["masked_lm_positions"]
    hidden = np.take_along_axis(ids, positions, axis=1)[real]
    assert np.mean(hidden == tokenizer.mask_id) > 0.5
    assert batch["masked_lm_ids"][real].min() > tokenizer.mask_id
    assert set(batch["sentence_order_labels"].tolist()) == {0, 1}


@pytest.mark.slow
def test_each_epoch_has_orders_of_its_own(make_dataset, count, tmp_path, monkeypatch):
    """Of the records, and of the two files."""

    def epochs_of(number, **arguments):
        arguments |= {"batch_size": 1}
        size = count(make_dataset("static", training=False, **arguments))
        batches = make_dataset("static", **arguments).take(number * size)
        rows = [tuple(batch["masked_lm_ids"][0].numpy()) for batch in batches]
        return [rows[i : i + size] for i in range(0, number * size, size)]

    first, second = epochs_of(2, input_file=str(tmp_path / "static" / "x-00000*"))
    assert sorted(first) == sorted(second) and first != second
    monkeypatch.setattr(input_pipeline, "_SHUFFLE_BUFFER", 1)
    assert len({tuple(rows) for rows in epochs_of(5)}) == 2


@pytest.mark.slow
def test_static_mask_is_the_same_in_every_epoch_and_dynamic_is_not(count, make_dataset):
    def masks(kind):
        """Original sequence to the set of masks that it was seen with in two epochs."""
        size = count(make_dataset(kind, training=False))
        seen = {}
        dataset = make_dataset(kind, batch_size=1).take(2 * size)
        for batch in dataset.as_numpy_iterator():
            ids = batch["input_ids"][0].copy()
            real = batch["masked_lm_weights"][0] == 1
            positions = batch["masked_lm_positions"][0][real]
            ids[positions] = batch["masked_lm_ids"][0][real]
            seen.setdefault(tuple(ids), set()).add(tuple(positions))
        return seen

    assert all(len(found) == 1 for found in masks("static").values())
    dynamic = [len(found) for found in masks("dynamic").values()]
    # Two epochs may agree by chance on a short sequence.
    assert np.mean(dynamic) > 1.7


@pytest.mark.slow
def test_batches_follow_from_their_seed_and_continue_from_a_checkpoint(
    make_dataset, tmp_path
):
    iterator = iter(make_dataset("dynamic"))
    begun = [next(iterator)["input_mask"] for _ in range(3)]
    again, other = (
        [batch["input_mask"] for batch in make_dataset("dynamic", seed=seed).take(3)]
        for seed in (1, 2)
    )
    np.testing.assert_array_equal(again, begun)
    assert not np.array_equal(other, begun)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "checkpoint"))
    expected = [next(iterator) for _ in range(30)]
    restored = iter(make_dataset("dynamic"))
    tf.train.Checkpoint(iterator=restored).read(path)
    found = [next(restored) for _ in expected]
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_evaluation_is_one_pass_in_order_that_pipelines_share(make_dataset):
    def batches(**share):
        dataset = make_dataset("static", training=False, **share)
        return [batch["input_ids"].numpy().tolist() for batch in dataset]

    whole = batches()
    assert whole == batches()
    assert 0 < len(whole[-1]) < 8
    shares = [batches(num_input_pipelines=3, input_pipeline_id=k) for k in range(3)]
    assert sorted(sum(sum(shares, []), [])) == sorted(sum(whole, []))


@pytest.mark.slow
def test_dynamic_data_fits_longer_sequences_and_more_predictions(make_dataset, caplog):
    dataset = make_dataset("dynamic", max_seq_length=40, max_predictions_per_seq=7)
    batch = next(iter(dataset))
    assert batch["input_ids"].shape == (8, 40)
    assert batch["masked_lm_ids"].shape == (8, 7)
    message = "dynamic has max_seq_length=32, training asks for 40: the rest of each"
    assert message in caplog.text
    caplog.clear()
    make_dataset("dynamic")
    assert not caplog.text


def test_the_bound_of_ids(make_dataset, tokenizer, monkeypatch):
    """The model's, or else the tokenizer's, if there is one."""
    read = mock.Mock(side_effect=lambda dataset, *_: dataset)
    monkeypatch.setattr(input_pipeline, "_parse", read)
    for given, known, expected in ((None, tokenizer, 55), (60, tokenizer, 60)):
        make_dataset("static", vocab_size=given, tokenizer=known)
        assert read.call_args.args[2] == expected
    make_dataset("static", tokenizer=None)
    assert read.call_args.args[2] is None


@pytest.mark.parametrize(
    ("kind", "lengths", "message"),
    [
        ("static", (33, 5), "max_seq_length=32, but training asks for 33"),
        ("static", (31, 5), "max_seq_length=32, but training asks for 31"),
        ("static", (32, 6), "max_predictions_per_seq=5, but training asks for 6"),
        ("static", (32, 4), "max_predictions_per_seq=5, but training asks for 4"),
        ("dynamic", (31, 5), "max_seq_length=32, but training asks for 31"),
        ("dynamic", (32, 4), "max_predictions_per_seq=5, but training asks for 4"),
    ],
)
def test_lengths_have_to_fit(make_dataset, kind, lengths, message):
    tokens, predictions = lengths
    sizes = {"max_seq_length": tokens, "max_predictions_per_seq": predictions}
    with pytest.raises(UserError, match=f"{kind} was made with {message}; pass max"):
        make_dataset(kind, **sizes)


@pytest.mark.slow
def test_permuted_data_has_twice_the_predictions(made, tokenizer):
    folder = str(made(masking="dynamic", do_permutation=True))
    dataset = pretraining_dataset(folder, tokenizer, 8, 32, 10, 1, True)
    weights = next(iter(dataset))["masked_lm_weights"]
    assert weights.shape == (8, 10)
    assert tf.reduce_max(tf.reduce_sum(weights, axis=1)) > 5
    with pytest.raises(UserError, match="but max_predictions_per_seq=1; pass max"):
        pretraining_dataset(folder, tokenizer, 8, 32, 1, 1, True, masked_lm_prob=0.1)


def test_folders_are_searched_for_records(count, make_dataset, made, tmp_path):
    folder = tmp_path / "brackets[1]"
    shutil.copytree(made(num_shards=3, held_out_fraction=0.2), folder)
    (folder / "x-9.tfrecord.incomplete").write_bytes(b"half")
    info = json.loads((folder / "dataset_info.json").read_text())
    for pattern in ("", "/*"):
        dataset = make_dataset(input_file=f"{folder}{pattern}", training=False)
        assert count(dataset) == info["counts"]["sequences"]
    (folder / "old.tfrecord").write_bytes(b"of an earlier data set")
    dataset = make_dataset(input_file=str(folder), training=False)
    assert count(dataset) == info["counts"]["sequences"]


def test_data_without_a_segmentation_is_read_with_a_warning(
    make_dataset, tokenizer, tmp_path, caplog
):
    make_dataset("static")
    assert "equally good" not in caplog.text
    description = tmp_path / "static" / "dataset_info.json"
    info = json.loads(description.read_text())
    assert info["tokenizer"]["fingerprint"] == tokenizer.fingerprint()
    info["tokenizer"]["fingerprint"] = [*tokenizer.earlier_fingerprints()][0]
    description.write_text(json.dumps(info))
    (tmp_path / "static" / "SHA256SUMS").unlink()
    make_dataset("static")
    assert caplog.text.count("equally good sequences") == 1


def test_each_data_set_has_to_fit(make_dataset, made, model_file, tmp_path):
    make_dataset("static")
    model = pathlib.Path(model_file).read_bytes()
    accented = SentencePieceTokenizer(model, rules=TextRules(keep_accents=True))
    with pytest.raises(UserError, match=r"=True\) than .*=True, keep_accents=True\);"):
        make_dataset("static", tokenizer=accented)
    cased = shutil.copytree(made(do_lower_case=False), tmp_path / "other")
    for described in (True, False):
        with pytest.raises(UserError, match="other was made with another tokenizer"):
            make_dataset(input_file=f"{tmp_path}/static/x-*,{cased}")
        if described:
            (tmp_path / "static" / "dataset_info.json").unlink()
            (tmp_path / "static" / "SHA256SUMS").unlink()
