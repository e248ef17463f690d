"""Finished runs are kept for whoever asks for the same."""

import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from benchmarks.measuring import kept_runs


@pytest.fixture
def data(tmp_path):
    """A folder with a file in a folder of its own."""
    path = tmp_path / "data" / "deeper" / "file.txt"
    path.parent.mkdir(parents=True)
    path.write_text("as it was")
    return tmp_path / "data"


def test_the_same_may_lie_elsewhere(data, tmp_path):
    kept_runs.check(tmp_path / "runs", data=data, sizes=(1, 2))
    data = data.rename(tmp_path / "moved")
    (tmp_path / "runs").rename(tmp_path / "kept")
    kept_runs.check(tmp_path / "kept", sizes=(1, 2), data=data)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"steps": 3}, "other settings: steps=2, which is 3 now"),
        ({"steps": 2, "rate": 0.5}, "other settings: rate=None, which is 0.5 now"),
        ({}, "steps=2, which is None now"),
    ],
)
def test_other_settings_are_named(facts, message, tmp_path):
    kept_runs.check(tmp_path / "runs", steps=2)
    with pytest.raises(UserError, match=f"runs holds runs .* {message}; name another"):
        kept_runs.check(tmp_path / "runs", **facts)


@pytest.mark.parametrize("path", ["", "deeper", "deeper/file.txt"])
def test_other_contents_are_named(path, data, tmp_path):
    kept_runs.check(tmp_path / "runs", data=data / path)
    (data / "deeper" / "file.txt").write_text("as it is")
    with pytest.raises(UserError, match="made with other contents of --data; name"):
        kept_runs.check(tmp_path / "runs", data=data / path)


def test_checksums_tell_contents_without_what_they_leave_out(data, tmp_path):
    sums = data / checksums.NAME
    sums.write_text("1" * 64 + "  model\n")
    kept_runs.check(tmp_path / "runs", data=data)
    (data / "log").touch()
    kept_runs.check(tmp_path / "runs", data=data)
    sums.write_text("2" * 64 + "  model\n")
    with pytest.raises(UserError, match="other contents of --data"):
        kept_runs.check(tmp_path / "runs", data=data)


@pytest.mark.parametrize("name", ["deeper/x-00001.tfrecord", "dataset_info.json"])
def test_changed_files_are_seen_whose_list_is_the_same(name, data, tmp_path):
    info = data / "dataset_info.json"
    info.write_text("{}")
    (data / "deeper" / "x-00001.tfrecord").write_text("as it was")
    (data / checksums.NAME).write_text(f"{checksums.of_file(info)}  {info.name}\n")
    kept_runs.check(tmp_path / "runs", data=data)
    (data / name).write_text("as it is")
    with pytest.raises(UserError, match="other contents of --data"):
        kept_runs.check(tmp_path / "runs", data=data)
