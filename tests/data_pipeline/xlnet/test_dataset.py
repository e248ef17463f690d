"""Streams of text, from files to the batches that continue them."""

import shutil
import types
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.xlnet import dataset as stream_pipeline
from data_pipeline.xlnet import records
from data_pipeline.xlnet.dataset import stream_dataset

LENGTH = 32
ORDERS = [[2, 3, 1, 0], [0, 1, 3, 2], [1, 3, 0, 2]]  # of files, in three epochs


@pytest.fixture
def streams(made):
    """Makes streams in two files, once for each choice of options."""
    options = {"objective": "permutation_lm", "num_shards": 2, "dupe_factor": None}
    return lambda **changes: made(**{**options, **changes})


@pytest.fixture
def read(tokenizer):
    """Reads a folder's batches of three rows."""

    def dataset(folder, training=False, batch_size=3, **changes):
        sizes = (batch_size, LENGTH, 5, 1)
        return stream_dataset(str(folder), tokenizer, *sizes, training, **changes)

    return dataset


def test_segments_of_a_file_continue_each_other(
    streams, examples, tokenizer, corpus_file
):
    folder = streams(bi_data=True)
    reused = {0: [], 1: []}
    for path in sorted(folder.glob("*.tfrecord")):
        for example in examples(path):
            direction = int(example["reversed_rows"][0])
            if example["stream_starts"][0]:
                reused[direction].append([])
            reused[direction][-1].extend(example["input_ids"][: LENGTH // 2].tolist())
            assert example["input_ids"][-1] == tokenizer.cls_id
            assert example["segment_ids"].max() == 2
    assert len(reused[0]) == len(reused[1]) == 2  # a stream each way in each file
    ids = []
    for document in corpus_file.read_text().split("\n\n"):
        ids += [i for line in document.splitlines() for i in tokenizer.encode(line)]
        ids.append(tokenizer.mask_id)
    forward = reused[0][0]
    assert len(forward) > 1000 and forward == ids[: len(forward)]
    backward = reused[1][1][::-1]
    ends = (len(ids) - 1, len(ids))
    assert backward in [ids[end - len(backward) : end] for end in ends]


@pytest.mark.slow
def test_predictions_are_drawn_anew_in_each_epoch(streams, read):
    folder = streams()
    records = sum(len(b["input_ids"]) for b in read(folder))
    epoch = records // 3
    batches = list(read(folder, training=True).take(2 * epoch))
    again = list(read(folder, training=True).take(5))
    tf.nest.map_structure(np.testing.assert_array_equal, batches[:5], again)
    seen = {}
    for batch in batches:
        rows = (batch[name].numpy() for name in ("input_ids", "target_positions"))
        for ids, targets in zip(*rows, strict=True):
            seen.setdefault(tuple(ids), set()).add(tuple(targets))
    drawn = [len(targets) for targets in seen.values()]
    assert np.mean(drawn) > 1.9
    weights = np.concatenate([batch["target_weights"] for batch in batches])
    assert 4 < weights.sum(axis=1).mean() <= 5


def test_words_of_rows_read_from_their_end(streams, read, tokenizer, monkeypatch):
    """As they reach the choice of tokens, which here takes all of these words."""

    def choose(word_starts, is_reversed, *_):
        return word_starts & is_reversed[:, None]

    monkeypatch.setattr(stream_pipeline, "choose_targets", choose)
    special = tokenizer.sep_id, tokenizer.cls_id
    for batch in read(streams(bi_data=True)):
        ids, ways = batch["input_ids"].numpy(), batch["reversed_rows"].numpy()
        chosen = tokenizer.word_starts()[ids] | (ids == tokenizer.mask_id)
        chosen &= ~np.isin(ids, special) & (ways[:, None] == 1)
        rows = [[*np.flatnonzero(row), *[-1] * 5][:5] for row in chosen]
        np.testing.assert_array_equal(batch["target_positions"], rows)


@pytest.mark.slow
def test_the_place_in_the_streams_is_saved(streams, read, tmp_path):
    def batches(iterator, count):
        return [next(iterator)["target_positions"].numpy() for _ in range(count)]

    dataset = read(streams(), training=True, batch_size=40)
    iterator = iter(dataset)
    batches(iterator, 4)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "place"))
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) < 8192  # without texts
    expected = batches(iterator, 3)
    other = iter(dataset)
    tf.train.Checkpoint(iterator=other).restore(path)
    np.testing.assert_array_equal(batches(other, 3), expected)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7 * 3 * 300])
def test_rows_walk_through_equal_parts_of_the_files_in_an_order_of_the_epoch(
    block, streams, read, examples, monkeypatch
):
    monkeypatch.setattr(stream_pipeline, "_BLOCK_BYTES", block)
    paths = sorted(streams(num_shards=4).glob("*.tfrecord"))
    files = [[tuple(e["input_ids"]) for e in examples(path)] for path in paths]
    # An evaluation reads each record once, be there as many as rows or not.
    for rows in (3, 5000):
        batches = read(paths[0].parent, batch_size=rows)
        whole = [tuple(row) for b in batches for row in b["input_ids"].numpy()]
        assert sorted(whole) == sorted(sum(files, []))
    size, more = divmod(sum(map(len, files)), 3)
    begins = [row * size + min(row, more) for row in range(3)]
    dataset = read(streams(num_shards=4), training=True).take(3 * size)
    batches = list(dataset)
    # A row continues the one above it, but in an epoch's first batch, and in a file's.
    begun = {
        tuple(e["input_ids"]): e["stream_starts"][0]
        for path in paths
        for e in examples(path)
    }
    expected = [[begun[tuple(row)] for row in b["input_ids"].numpy()] for b in batches]
    expected[::size] = [[1, 1, 1]] * 3
    starts = np.array([batch["stream_starts"] for batch in batches])
    assert starts.tolist() == expected and 9 < starts.sum() < starts.size / 5
    found = [tuple(row) for batch in batches for row in batch["input_ids"].numpy()]
    for number, order in enumerate(ORDERS):
        line = [record for file in order for record in files[file]]
        parts = [line[begin : begin + size] for begin in begins]
        expected = [record for turn in zip(*parts, strict=True) for record in turn]
        assert found[number * 3 * size :][: 3 * size] == expected


def test_a_damaged_file_is_named(streams, read, tmp_path):
    shutil.copytree(streams(), tmp_path / "damaged")
    path = max((tmp_path / "damaged").glob("*.tfrecord"))
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 1
    path.write_bytes(text)
    with pytest.raises(UserError, match=f"{path.name} is damaged: one of its records"):
        read(tmp_path / "damaged")


def test_sizes_of_records_and_the_progress_of_reading_them(streams, monkeypatch):
    path, progress = min(streams().glob("*.tfrecord")), mock.Mock(done=7)
    monkeypatch.setattr(stream_pipeline, "_RECORDS", 30)
    sizes = stream_pipeline._sizes(str(path), progress)
    assert sizes.sum() == path.stat().st_size
    told = [call.args[0] for call in progress.update.call_args_list]
    ends = range(0, len(sizes), 30)
    assert told == [7 + sizes[:end].sum() for end in ends] and len(told) > 1


def test_data_that_does_not_fit(streams, read, tokenizer, tmp_path):
    with pytest.raises(UserError, match="max_seq_length"):
        stream_dataset(str(streams()), tokenizer, 3, LENGTH - 2, 5, 1, training=False)
    for count in (1, 2, LENGTH, LENGTH + 1):
        given = str(streams()), tokenizer, 3, LENGTH, count, 1, False
        if count in (2, LENGTH):
            stream_dataset(*given)
            continue
        message = f"max_predictions_per_seq={count}: expected 2 to {LENGTH}, the"
        with pytest.raises(UserError, match=message):
            stream_dataset(*given)
    records = sum(len(batch["input_ids"]) for batch in read(streams()))
    read(streams(), training=True, batch_size=records)
    message = f"hold {records} segments, too few for a batch of {records + 1} rows"
    with pytest.raises(UserError, match=message):
        read(streams(), training=True, batch_size=records + 1)
    shutil.copytree(streams(), tmp_path / "bare")
    for name in ("dataset_info.json", "SHA256SUMS"):
        (tmp_path / "bare" / name).unlink()
    with pytest.raises(UserError, match="bare lacks a dataset_info.json, which stream"):
        read(tmp_path / "bare")


def test_each_pass_splits_the_texts_anew(streams, examples):
    once, twice = (
        [tuple(example["input_ids"]) for example in examples(folder / "x.tfrecord")]
        for folder in (streams(num_shards=1, dupe_factor=n) for n in (1, 2))
    )
    assert twice[: len(once)] == once != twice[len(once) :]


def test_documents_end_as_the_vocabulary_says():
    theirs = types.SimpleNamespace(pieces=("a", "<mask>", "<eod>"), mask_id=1)
    ours = types.SimpleNamespace(pieces=("a", "[MASK]"), mask_id=1)
    assert (records.end_of_document(theirs), records.end_of_document(ours)) == (2, 1)
