"""Work that was interrupted goes on where it stopped."""

import dataclasses

import pytest

from albert_tf.errors import UserError
from data_pipeline import create_pretraining_data as command
from data_pipeline import shards
from data_pipeline import workers
from data_pipeline.create_pretraining_data import create_pretraining_data


def test_interrupted_work_goes_on_shard_by_shard(
    make_options, tmp_path, monkeypatch, digests
):
    whole = make_options(output_file=str(tmp_path / "whole" / "x"), num_shards=3)
    create_pretraining_data(whole)
    parts = make_options(output_file=str(tmp_path / "parts" / "x"), num_shards=3)
    write = shards.write_shard
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
    create_pretraining_data(parts)
    assert written == [0, 1, None, 2]
    assert digests(tmp_path / "parts") == digests(tmp_path / "whole")


@pytest.mark.parametrize("lost", ["x-00000-of-00003", "held_out/x-00000-of-00003"])
def test_a_finished_shard_that_is_gone_is_made_again(
    make_options, tmp_path, digests, lost
):
    def interrupted(options, files, paths, waiting, finished):
        workers.write_shards(options, files, paths, waiting[:2], finished)
        raise KeyboardInterrupt

    def options(name):
        path = str(tmp_path / name / "x")
        return make_options(output_file=path, num_shards=3, held_out_fraction=0.2)

    create_pretraining_data(options("whole"))
    with pytest.raises(KeyboardInterrupt):
        create_pretraining_data(options("parts"), interrupted)
    (tmp_path / "parts" / lost).unlink()
    create_pretraining_data(options("parts"))
    assert digests(tmp_path / "parts") == digests(tmp_path / "whole")


def test_machines_mark_their_shards_at_the_same_time(tmp_path, monkeypatch):
    paths = {"train": [str(tmp_path / name) for name in "ab"]}
    for path in paths["train"]:
        (tmp_path / path).touch()
    done = command._Done(paths, str(tmp_path), "digest")
    rename = command.tf.io.gfile.rename

    def another_marks_before(*arguments, **options):
        monkeypatch.setattr(command.tf.io.gfile, "rename", rename)
        done.mark(1, {"of": "1"})
        rename(*arguments, **options)

    monkeypatch.setattr(command.tf.io.gfile, "rename", another_marks_before)
    done.mark(0, {"of": "0"})
    assert [done.counts(shard) for shard in (0, 1)] == [{"of": "0"}, {"of": "1"}]
