"""Work that was interrupted goes on where it stopped."""

import dataclasses
import os
import pathlib

import pytest
import tensorflow as tf

from albert_tf.errors import UserError
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.shards import workers
from data_pipeline.shards import writing


def test_interrupted_work_goes_on_shard_by_shard(
    make_options, tmp_path, monkeypatch, digests
):
    whole = make_options(output_file=str(tmp_path / "whole" / "x"), num_shards=3)
    create_pretraining_data(whole)
    parts = make_options(output_file=str(tmp_path / "parts" / "x"), num_shards=3)
    write = writing.write_shard
    written = []

    def write_until_interrupted(options, files, shard, paths, report):
        if shard == 2 and len(written) == 2:
            raise KeyboardInterrupt
        written.append(shard)
        return write(options, files, shard, paths, report)

    monkeypatch.setattr(workers, "write_shard", write_until_interrupted)
    with pytest.raises(KeyboardInterrupt):
        create_pretraining_data(parts)
    assert not (tmp_path / "parts" / "dataset_info.json").exists()
    other = dataclasses.replace(parts, ngram=2)
    with pytest.raises(UserError, match="holds shards made with other input or flags"):
        create_pretraining_data(other)
    written.append(None)
    # Somebody may have moved the folder.
    (tmp_path / "parts").rename(tmp_path / "moved")
    moved = dataclasses.replace(parts, output_file=str(tmp_path / "moved" / "x"))
    create_pretraining_data(moved)
    assert written == [0, 1, None, 2]
    assert digests(tmp_path / "moved") == digests(tmp_path / "whole")


@pytest.fixture
def unfinished(make_options, tmp_path, digests):
    """Folders of a whole data set and of one with two of three shards, and options."""

    def interrupted(options, files, paths, waiting, finished):
        workers.write_shards(options, files, paths, waiting[:2], finished)
        raise KeyboardInterrupt

    def options(name):
        path = str(tmp_path / name / "x")
        return make_options(output_file=path, num_shards=3, held_out_fraction=0.2)

    create_pretraining_data(options("whole"))
    with pytest.raises(KeyboardInterrupt):
        create_pretraining_data(options("parts"), interrupted)
    return tmp_path / "whole", tmp_path / "parts", options("parts")


@pytest.mark.parametrize("lost", ["x-00000-of-00003", "held_out/x-00001-of-00003"])
def test_a_finished_shard_that_is_gone_or_cut_is_made_again(unfinished, digests, lost):
    whole, parts, options = unfinished
    if "held_out" in lost:
        (parts / lost).write_bytes((parts / lost).read_bytes()[:-100])
    else:
        (parts / lost).unlink()
    create_pretraining_data(options)
    assert digests(parts) == digests(whole)


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"[1]", b"{}", None])
def test_a_damaged_memory_of_a_shard_is_made_again(unfinished, digests, damage):
    whole, parts, options = unfinished
    path = parts / ".unfinished" / "1.json"
    if damage is None:  # a count is another
        damage = path.read_bytes().replace(b'"tokens": ', b'"tokens": 1')
        assert damage != path.read_bytes()
    path.write_bytes(damage)
    create_pretraining_data(options)
    assert digests(parts) == digests(whole)


def test_text_that_was_edited_meanwhile(unfinished, corpus_file):
    """To the same number of bytes, of which the finished shards hold the old ones."""
    _, _, options = unfinished
    text = corpus_file.read_bytes()
    place = os.stat(corpus_file)
    try:
        corpus_file.write_bytes(text.replace(b"cat", b"dog"))
        with pytest.raises(UserError, match="holds shards made with other input or fl"):
            create_pretraining_data(options)
    finally:
        corpus_file.write_bytes(text)
        os.utime(corpus_file, ns=(place.st_atime_ns, place.st_mtime_ns))
    create_pretraining_data(options)


def test_leftovers_of_killed_workers_are_removed(unfinished, digests):
    whole, parts, options = unfinished
    leftover = writing.temporary_name(str(parts / "x-00002-of-00003"))
    pathlib.Path(leftover).write_bytes(b"half")
    (parts / "mine.incomplete").write_bytes(b"of somebody else")
    create_pretraining_data(options)
    (parts / "mine.incomplete").unlink()
    assert digests(parts) == digests(whole)


def test_files_are_on_the_disk_before_they_have_their_names(
    make_options, out, monkeypatch
):
    """Or a power failure could leave the name, and half of what it names."""
    order = []
    fsync, rename, replace = os.fsync, tf.io.gfile.rename, os.replace

    def synced(descriptor):
        order.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def noted(rename):
        def renamed(source, target, **options):
            assert order[-1] == os.path.realpath(source)
            order.append(os.path.basename(target))
            rename(source, target, **options)

        return renamed

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(tf.io.gfile, "rename", noted(rename))
    monkeypatch.setattr(os, "replace", noted(replace))
    create_pretraining_data(make_options())
    names = ["x.tfrecord", "0.json", "dataset_info.json", "SHA256SUMS"]
    assert order[1::2] == names
