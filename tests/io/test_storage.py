"""Files and folders on a disk, and in a bucket: TensorFlow's one in memory."""

import pytest

from albert_tf.io import storage
from albert_tf.io.files import write_atomically


@pytest.fixture(params=["disk", "bucket"])
def folder(request, tmp_path):
    return str(tmp_path) if request.param == "disk" else f"ram://{tmp_path.name}"


def test_files_are_written_whole_and_read(folder):
    path = f"{folder}/a/b.txt"
    assert not storage.exists(path)
    for contents in ("old", "new"):
        write_atomically(path, contents)
        assert storage.read_bytes(path) == contents.encode()
    with pytest.raises(TypeError):
        write_atomically(path, 3)
    with storage.read_locally(path) as local, open(local, encoding="utf-8") as file:
        assert file.read() == "new"
    assert storage.exists(path) and not storage.is_folder(path)
    assert storage.is_folder(f"{folder}/a")
    assert storage.names_in(f"{folder}/a") == ["b.txt"]


def test_a_folder_takes_the_place_of_another(folder):
    for name in ("best-1/a", "best-1/old", "best-2.tmp/a"):
        write_atomically(f"{folder}/{name}", name)
    storage.replace_folder(f"{folder}/best-2.tmp", f"{folder}/best-1")
    assert storage.matching(folder, "best-*") == [f"{folder}/best-1"]
    assert storage.names_in(f"{folder}/best-1") == ["a"]
    assert storage.read_bytes(f"{folder}/best-1/a") == b"best-2.tmp/a"
    for _ in range(2):
        storage.remove_folder(f"{folder}/best-1")
        assert not storage.exists(f"{folder}/best-1")


def test_brackets_in_the_name_of_a_folder_are_no_pattern(folder):
    for name in ("a[1]/best-1", "a1/best-2", "a[1]/last"):
        write_atomically(f"{folder}/{name}", name)
    assert storage.matching(f"{folder}/a[1]", "best-*") == [f"{folder}/a[1]/best-1"]
    assert storage.matching(f"{folder}/missing", "*") == []
