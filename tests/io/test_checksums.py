"""Checksums of a folder's files, and the files read with them."""

import shutil

import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import ChecksummedFolder

_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_what_was_written_is_listed(tmp_path):
    with ChecksummedFolder(tmp_path) as folder:
        folder.write("a", b"")
        folder.write_json("b.json", {"ü": 1})
        (tmp_path / "c").write_bytes(b"")
        folder.add("c")
    listed = checksums.read(tmp_path)
    assert sorted(listed) == ["a", "b.json", "c"]
    assert listed["a"] == listed["c"] == _OF_NOTHING
    assert listed["b.json"] == checksums.of_file(tmp_path / "b.json")
    assert read_json_object(tmp_path / "b.json") == {"ü": 1}


@pytest.mark.parametrize("how", ["write", "add"])
def test_a_folder_that_vanishes_while_it_is_written_is_missed(how, tmp_path):
    place = tmp_path / "model"
    with pytest.raises(FileNotFoundError) as error, ChecksummedFolder(place) as folder:
        folder.write("a", b"1")
        if how == "add":
            shutil.copy(place / "a", place / "b")
            folder.add("b")
            (place / "b").unlink()
        else:
            shutil.rmtree(place)
            folder.write("b", b"2")
    assert error.value.filename == str(place / ("b" if how == "add" else "a"))
    assert error.value.strerror.startswith("it was removed while the files beside it")
    assert not (place / "SHA256SUMS").exists()


def test_what_an_inner_block_wrote_is_missed_by_the_outer_one(tmp_path):
    place = tmp_path / "model"
    with pytest.raises(FileNotFoundError) as error, ChecksummedFolder(f"{place}/"):
        with ChecksummedFolder(place) as inner:
            inner.write("a", b"1")
        shutil.rmtree(place)
        with ChecksummedFolder(place) as inner:
            inner.write("b", b"2")
    assert error.value.filename == str(place / "a")
    with ChecksummedFolder(place) as folder:  # which asks for "a" no more
        folder.write("c", b"3")
    assert sorted(checksums.read(place)) == ["b", "c"]


def test_other_files_keep_their_checksums(tmp_path):
    with ChecksummedFolder(tmp_path) as folder:
        folder.write("a", b"1")
        folder.write("b", b"1")
    before = checksums.read(tmp_path)
    with pytest.raises(OSError, match="full"), ChecksummedFolder(tmp_path):
        raise OSError("full")
    assert checksums.read(tmp_path) == before
    with ChecksummedFolder(tmp_path) as folder:
        folder.write("b", b"2")
        with ChecksummedFolder(tmp_path) as inner:
            inner.write("c", b"3")
        assert sorted(checksums.read(tmp_path)) == ["c"]
    after = checksums.read(tmp_path)
    assert sorted(after) == ["a", "b", "c"]
    assert after["a"] == before["a"] and after["b"] != before["b"]
    checksums.check_folder(tmp_path)


def test_changed_files_are_refused(tmp_path):
    with ChecksummedFolder(tmp_path) as folder:
        folder.write("a.json", "{}")
        folder.write("b/c", b"1")
    checksums.check_folder(tmp_path)
    (tmp_path / "a.json").write_text("{ }")
    path = tmp_path / "a.json"
    message = f"{path} is damaged: its SHA-256 differs from the one in {tmp_path}"
    with pytest.raises(UserError, match=message):
        read_json_object(path)
    with pytest.raises(UserError, match=message):
        checksums.check_folder(tmp_path)
    with pytest.raises(UserError, match=message):
        checksums.check_weights(path, path)


def test_lists_that_others_have_written(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside").write_bytes(b"never compared")
    (folder / "a").write_bytes(b"")
    wrong = "0" * 64
    lines = [f"{_OF_NOTHING} *a", f"{wrong}  ../outside", "\xff", "x  a"]
    (folder / "SHA256SUMS").write_text("\n".join(lines), encoding="latin-1")
    assert checksums.read(folder)["a"] == _OF_NOTHING
    checksums.check_folder(folder)
    (folder / "SHA256SUMS").write_text(f"{wrong}  a")
    with pytest.raises(UserError, match="folder/a is damaged"):
        checksums.check_bytes(folder / "a", b"")
