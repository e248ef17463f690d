"""Batches for training."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline import input_pipeline
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.input_pipeline import pretraining_dataset


@pytest.fixture
def make_dataset(make_options, tokenizer, tmp_path):
    """Creates data of a kind, once, and reads it."""
    made = set()

    def make(kind="static", **changes):
        folder = tmp_path / kind
        if kind not in made:
            made.add(kind)
            create_pretraining_data(
                make_options(
                    output_file=str(folder / "x"),
                    masking=kind,
                    num_shards=2,
                    dupe_factor=1,
                )
            )
        arguments = {
            "input_file": f"{folder}/x-*",
            "tokenizer": tokenizer,
            "batch_size": 8,
            "max_seq_length": 32,
            "max_predictions_per_seq": 5,
            "seed": 1,
            "training": True,
        }
        return pretraining_dataset(**{**arguments, **changes})

    return make


KINDS = pytest.mark.parametrize("kind", ["static", "dynamic"])


def count(dataset):
    return sum(len(batch["input_ids"]) for batch in dataset)


@KINDS
def test_features(make_dataset, kind):
    spec = make_dataset(kind).element_spec
    long, short = ((8, 32), tf.int32), ((8, 5), tf.int32)
    assert {name: (tuple(s.shape), s.dtype) for name, s in spec.items()} == {
        "input_ids": long,
        "input_mask": long,
        "segment_ids": long,
        "masked_lm_positions": short,
        "masked_lm_ids": short,
        "masked_lm_weights": ((8, 5), tf.float32),
        "sentence_order_labels": ((8,), tf.int32),
    }


@KINDS
def test_masks_are_valid(make_dataset, tokenizer, kind):
    batch = next(iter(make_dataset(kind).as_numpy_iterator()))
    lengths = batch["input_mask"].sum(axis=1)
    budget = np.array([min(5, max(1, round(0.15 * int(n)))) for n in lengths])
    predictions = batch["masked_lm_weights"].sum(axis=1)
    assert (predictions <= budget).all()
    assert predictions.sum() > 0.8 * budget.sum()
    real = batch["masked_lm_weights"] == 1
    hidden = np.take_along_axis(
        batch["input_ids"], batch["masked_lm_positions"], axis=1
    )[real]
    assert np.mean(hidden == tokenizer.mask_id) > 0.5
    assert batch["masked_lm_ids"][real].min() > tokenizer.mask_id
    assert set(batch["sentence_order_labels"].tolist()) == {0, 1}


@KINDS
def test_training_is_shuffled_seeded_and_endless(make_dataset, kind):
    def batches(seed):
        return [b["input_ids"] for b in make_dataset(kind, seed=seed).take(60)]

    first, again, other = map(batches, (1, 1, 2))
    assert len(first) == 60
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def epochs_of(make_dataset, number, **arguments):
    """The sequences of each epoch, in order."""
    arguments |= {"batch_size": 1}
    size = count(make_dataset("static", training=False, **arguments))
    batches = make_dataset("static", **arguments).take(number * size)
    rows = [tuple(batch["masked_lm_ids"][0].numpy().tolist()) for batch in batches]
    return [rows[i : i + size] for i in range(0, number * size, size)]


def test_each_epoch_has_an_order_of_its_own(make_dataset, tmp_path):
    one_file = str(tmp_path / "static" / "x-00000*")
    first, second = epochs_of(make_dataset, 2, input_file=one_file)
    assert sorted(first) == sorted(second)
    assert first != second


def test_each_epoch_reads_the_files_in_an_order_of_its_own(make_dataset, monkeypatch):
    monkeypatch.setattr(input_pipeline, "_SHUFFLE_BUFFER", 1)
    orders = {tuple(rows) for rows in epochs_of(make_dataset, 8)}
    assert len(orders) == 2  # there are two files


@KINDS
def test_evaluation_is_one_pass_in_order(make_dataset, kind):
    whole = count(make_dataset(kind, training=False))
    assert whole % 8
    passes = [
        [b["input_ids"].numpy().tolist() for b in make_dataset(kind, training=False)]
        for _ in range(2)
    ]
    assert passes[0] == passes[1]
    assert len(passes[0][-1]) == whole % 8


def test_static_mask_is_the_same_in_every_epoch_and_dynamic_is_not(make_dataset):
    def masks(kind, epochs):
        """Original sequence to the set of masks that it was seen with."""
        size = count(make_dataset(kind, training=False))
        seen = {}
        dataset = make_dataset(kind, batch_size=1)
        for batch in dataset.take(size * epochs).as_numpy_iterator():
            ids = batch["input_ids"][0].copy()
            real = batch["masked_lm_weights"][0] == 1
            positions = batch["masked_lm_positions"][0][real]
            ids[positions] = batch["masked_lm_ids"][0][real]
            seen.setdefault(tuple(ids), set()).add(tuple(positions))
        return seen

    assert all(len(found) == 1 for found in masks("static", 3).values())
    dynamic = [len(found) for found in masks("dynamic", 3).values()]
    # Two epochs may agree by chance on a short sequence.
    assert np.mean(dynamic) > 2.3


@KINDS
def test_iterator_continues_from_a_checkpoint(make_dataset, tmp_path, kind):
    iterator = iter(make_dataset(kind))
    for _ in range(5):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "checkpoint"))
    expected = [next(iterator) for _ in range(40)]
    restored = iter(make_dataset(kind))
    tf.train.Checkpoint(iterator=restored).read(path)
    for batch in expected:
        found = next(restored)
        for name, values in batch.items():
            np.testing.assert_array_equal(values, found[name])


@KINDS
def test_pipelines_share_the_records(make_dataset, kind):
    def sequences(**share):
        dataset = make_dataset(kind, training=False, **share)
        return [tuple(row) for b in dataset for row in b["input_mask"].numpy().tolist()]

    shares = [sequences(num_input_pipelines=3, input_pipeline_id=k) for k in range(3)]
    assert sorted(sum(shares, [])) == sorted(sequences())


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


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("static", {"max_seq_length": 64}, "has max_seq_length=32, training asks"),
        ("dynamic", {"max_seq_length": 16}, "has max_seq_length=32, training asks"),
        ("static", {"max_predictions_per_seq": 6}, "max_predictions_per_seq=5"),
        ("dynamic", {"max_predictions_per_seq": 4}, "has max_predictions_per_seq=5"),
        (
            "dynamic",
            {"masked_lm_prob": 0.3},
            "has max_predictions_per_seq=10, training asks for 5; pass --max_pred",
        ),
        ("static", {"input_file": "no/such/*"}, "No pretraining data matches"),
        ("static", {"input_file": " ,"}, "' ,' names no pretraining data; pass"),
    ],
)
def test_data_that_does_not_fit(make_dataset, kind, changes, message):
    with pytest.raises(UserError, match=message):
        make_dataset(kind, **changes)


@pytest.mark.parametrize("pattern", ["", "/*", "/x*"])
def test_folders_are_searched_for_records(make_dataset, make_options, out, pattern):
    counts = create_pretraining_data(make_options(held_out_fraction=0.2))
    (pathlib.Path(out) / "x-9.tfrecord.incomplete").write_bytes(b"half")
    dataset = make_dataset(input_file=f"{out}{pattern}", training=False)
    assert count(dataset) == counts["train"]["sequences"]


def test_a_folder_holds_what_its_description_lists(make_dataset, make_options, out):
    folder = out.with_name("brackets[1]")
    options = make_options(output_file=str(folder / "examples.tf_record"))
    counts = create_pretraining_data(options)["train"]
    (folder / "old.tfrecord").write_bytes(b"of an earlier data set")
    assert (
        count(make_dataset(input_file=str(folder), training=False))
        == (counts["sequences"])
    )
    (folder / "examples.tf_record").unlink()
    with pytest.raises(UserError, match=r"lists examples\.tf_record, which is missing"):
        make_dataset(input_file=str(folder))


def test_folder_without_records(make_dataset, tmp_path):
    (tmp_path / "empty").mkdir()
    for name, shown in (("empty", "empty'"), ("empt*", r"empt\*'")):
        with pytest.raises(UserError, match=f"No pretraining data matches .*{shown}"):
            make_dataset(input_file=str(tmp_path / name))


def test_data_out_of_reach(make_dataset):
    with pytest.raises(OSError, match="'nowhere' not implemented"):
        make_dataset(input_file="nowhere://bucket/x.tfrecord")


@KINDS
def test_files_that_hold_no_examples_are_named(make_dataset, tmp_path, kind):
    """Also where a description of an earlier version, without sizes, lists them."""
    make_dataset(kind)
    description = tmp_path / kind / "dataset_info.json"
    info = json.loads(description.read_text())
    description.write_text(json.dumps({**info, "files": list(info["files"])}))
    (tmp_path / kind / "SHA256SUMS").unlink()
    with tf.io.TFRecordWriter(str(tmp_path / kind / "x-00001-of-00002")) as writer:
        writer.write(b"\xff no example")
    with pytest.raises(UserError, match="x-00001-of-00002 is no TFRecord file of exa"):
        make_dataset(kind)


def test_other_tokenizer_is_refused(make_dataset, model_file):
    from albert_tf.tokenization import load_tokenizer

    cased = load_tokenizer(model_file, do_lower_case=False)
    with pytest.raises(UserError, match="was made with another tokenizer"):
        make_dataset("static", tokenizer=cased)


def test_kinds_do_not_mix(make_dataset, tmp_path):
    make_dataset("static")
    make_dataset("dynamic")
    with pytest.raises(UserError, match="differ in kind"):
        make_dataset(input_file=f"{tmp_path}/static/x-*,{tmp_path}/dynamic/x-*")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_lower_case": False}, "other was made with another tokenizer"),
        ({"max_predictions_per_seq": 7}, "other has max_predictions_per_seq=7"),
    ],
)
@pytest.mark.parametrize("described", [True, False])
def test_each_data_set_has_to_fit(
    make_dataset, make_options, tmp_path, changes, message, described
):
    make_dataset("static")
    other = tmp_path / "other" / "x"
    create_pretraining_data(make_options(output_file=str(other), **changes))
    if not described:
        (tmp_path / "static" / "dataset_info.json").unlink()
    with pytest.raises(UserError, match=message):
        make_dataset(input_file=f"{tmp_path}/static/x-*,{other}")


def test_official_files_without_description(make_dataset, tmp_path, caplog):
    make_dataset("static")
    (tmp_path / "static" / "dataset_info.json").unlink()
    assert next(iter(make_dataset("static")))["input_ids"].shape == (8, 32)
    assert "nobody has checked that they fit" in caplog.text


def test_other_records_need_their_description(make_dataset, tmp_path):
    make_dataset("dynamic")
    (tmp_path / "dynamic" / "dataset_info.json").unlink()
    with pytest.raises(UserError, match="dynamic/dataset_info.json is missing: it"):
        make_dataset("dynamic")


def test_permuted_data_has_twice_the_predictions(make_options, tokenizer, tmp_path):
    for kind in ("static", "dynamic"):
        path = tmp_path / "permuted" / kind / "x"
        create_pretraining_data(
            make_options(output_file=str(path), masking=kind, do_permutation=True)
        )
        dataset = pretraining_dataset(str(path), tokenizer, 8, 32, 10, 1, True)
        weights = next(iter(dataset))["masked_lm_weights"]
        assert weights.shape == (8, 10)
        assert tf.reduce_max(tf.reduce_sum(weights, axis=1)) > 5


def test_mask_rate_of_dynamic_data_can_be_changed(make_dataset):
    masked = [
        tf.reduce_sum(next(iter(dataset))["masked_lm_weights"]).numpy()
        for dataset in (
            make_dataset("dynamic", max_predictions_per_seq=20),
            make_dataset("dynamic", max_predictions_per_seq=20, masked_lm_prob=0.3),
        )
    ]
    assert 1.8 < masked[1] / masked[0] < 2.2
    with pytest.raises(UserError, match="needs data of .* --masking=dynamic"):
        make_dataset("static", masked_lm_prob=0.3)
