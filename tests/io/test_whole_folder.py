"""Files that take the place of others all at once."""

import contextlib
import os

import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import finish
from albert_tf.io.whole_folder import replacing
from albert_tf.io.whole_folder import require_whole

OLD = {"a": "1", "b": "1", "history": "1"}
NEW = {"b": "2", "c": "2", "history": "1"}


def write(folder, files):
    with ChecksummedFolder(folder) as listed:
        for name, text in files.items():
            listed.write(name, text)


def is_stale(name, listed):
    return listed and name in "abc"


def replace(folder):
    with replacing(folder, is_stale) as new:
        write(new, {"b": "2", "c": "2"})


def contents(folder):
    return {n: (folder / n).read_text() for n in os.listdir(folder) if n[0].islower()}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "model", OLD)
    (tmp_path / "model" / "mine").write_text("0")
    return tmp_path / "model"


@pytest.mark.parametrize("remote", [False, True])
def test_what_is_replaced_goes_and_what_is_not_stays(folder, monkeypatch, remote):
    monkeypatch.setattr(storage, "is_remote", lambda path: remote)
    replace(folder)
    require_whole(folder)
    checksums.check_folder(folder)
    assert contents(folder) == {**NEW, "mine": "0"}
    assert sorted(checksums.read(folder)) == ["b", "c", "history"]
    assert sorted(os.listdir(folder)) == ["SHA256SUMS", "b", "c", "history", "mine"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("function", ["replace", "rename", "remove", "fsync"])
def test_a_kill_leaves_the_old_files_or_the_new(function, folder, tmp_path):
    """At each call in turn, with what follows in the block left out as by a kill."""
    seen = set()
    for place in range(20):
        target = tmp_path / f"copy{place}"
        write(target, OLD)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(storage, "remove_folder", lambda path: None)
            done = kill_at(patch, function, place)
            with contextlib.suppress(Killed):
                replace(target)
        with contextlib.suppress(UserError):
            require_whole(target)
            assert contents(target) in (OLD, NEW)
        finish(target)
        require_whole(target)
        checksums.check_folder(target)
        found = contents(target)
        assert found in (OLD, NEW)
        seen.add(found == NEW)
        if len(done) <= place:
            return
    raise AssertionError("it never ends")


def kill_at(patch, function, place):
    done, call = [], getattr(os, function)

    def killing(*arguments):
        done.append(arguments)
        if len(done) > place:
            raise Killed
        return call(*arguments)

    patch.setattr(os, function, killing)
    return done


def test_an_error_leaves_the_old_files_and_names_the_new_ones_place(folder):
    full = pytest.raises(OSError, match="full")
    with full as error, replacing(folder, is_stale) as new:
        write(new, {"b": "2"})
        raise OSError(28, f"{new}/b: full", f"{new}/b")
    assert error.value.filename == f"{folder}/b"
    assert error.value.strerror == f"{folder}/b: full"
    assert contents(folder) == {**OLD, "mine": "0"}
    checksums.check_folder(folder)


def test_a_file_that_is_gone_is_missed(folder):
    (folder / "a").unlink()
    for check in (require_whole, checksums.check_folder):
        with pytest.raises(UserError, match=r"/a is missing, though .*/SHA256SUMS"):
            check(folder)
    replace(folder)  # which needs it no more
    require_whole(folder)


def test_lines_on_other_folders_are_not_missed(folder):
    lines = [f"{'0' * 64}  {name}\n" for name in ("../x", "/nowhere/y")]
    (folder / "SHA256SUMS").write_text("".join(lines))
    require_whole(folder)
    replace(folder)
    assert set(lines) < set((folder / "SHA256SUMS").read_text().splitlines(True))
