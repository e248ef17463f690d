"""Files appear whole or not at all."""

import pytest

from albert_tf.files import write_atomically


def test_missing_folders_are_made_and_old_contents_replaced(tmp_path):
    path = tmp_path / "a" / "b.bin"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["b.bin"]


def test_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "b.bin"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "text")
    assert path.read_bytes() == b"old"
