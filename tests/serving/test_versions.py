"""Exports get numbers, and killed ones leave nothing for good."""

import errno
import os

import pytest

from albert_tf.serving.versions import exporting_folder
from albert_tf.serving.versions import numbered_versions


@pytest.fixture
def export_dir(tmp_path):
    return tmp_path / "models" / "a[1]"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def make_old(path):
    (path / "file").write_text("x")
    os.utime(path, (1, 1))


def test_what_killed_exports_have_left_is_removed(export_dir):
    left = export_dir / ".exporting-1"
    new = export_dir / ".exporting-2"  # perhaps about to be locked
    for path in (left, new, export_dir / "3", export_dir / "mine"):
        path.mkdir(parents=True)
        make_old(path)
    os.utime(new)
    with exporting_folder(export_dir):
        assert not left.exists()
    assert names(export_dir) == [".exporting-2", "3", "mine"]


def test_an_export_under_way_is_left_alone(export_dir):
    with exporting_folder(export_dir) as slow:
        make_old(slow)
        with exporting_folder(export_dir) as other:
            assert slow.exists() and other != slow
        assert slow.exists()
    left = export_dir / ".exporting-1"
    left.mkdir()
    make_old(left)
    with exporting_folder(export_dir):
        assert not left.exists()


def test_what_ends_an_export_is_told_and_leaves_nothing(export_dir, lines):
    with pytest.raises(KeyboardInterrupt), exporting_folder(export_dir):
        raise KeyboardInterrupt
    assert lines == [f"Nothing was exported: {export_dir} has no new version"]
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        pytest.raises(OSError, match="No space") as error,
        exporting_folder(export_dir),
    ):
        raise full
    assert error.value.filename == str(export_dir)
    assert names(export_dir) == []
    with pytest.raises(FileNotFoundError) as error, exporting_folder(export_dir):
        (export_dir / "no").read_bytes()
    assert error.value.filename.endswith("no")


def test_numbers_count_as_numbers(export_dir):
    assert numbered_versions(export_dir) == {}
    for name in ("9", "10", "x", "²", ".exporting-1"):
        (export_dir / name).mkdir(parents=True)
    (export_dir / "11").write_text("")
    found = numbered_versions(export_dir)
    assert found == {9: export_dir / "9", 10: export_dir / "10"}
