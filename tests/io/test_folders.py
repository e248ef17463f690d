"""Folders of files: their checksums, how they replace others, and who may write."""

import concurrent.futures
import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import sys
from unittest import mock

import pytest

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.folder_lock import folder_lock
from albert_tf.io.folder_lock import is_locked
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import finish
from albert_tf.io.whole_folder import replacing
from albert_tf.io.whole_folder import require_whole

OLD = {"a": "1", "b": "1", "history": "1"}
NEW = {"b": "2", "c": "2", "history": "1"}
OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
WRONG = "0" * 64


def write(folder, files):
    with ChecksummedFolder(folder) as listed:
        for name, text in files.items():
            listed.write(name, text)


def replace(folder):
    with replacing(folder, lambda name, listed: listed and name in "abc") as new:
        write(new, {"b": "2", "c": "2"})


def contents(folder):
    return {n: (folder / n).read_text() for n in os.listdir(folder) if n[0].islower()}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "model", OLD)
    (tmp_path / "model" / "mine").write_text("0")
    return tmp_path / "model"


@pytest.mark.parametrize(("how", "missed"), [("write", "a"), ("add", "b")])
def test_a_folder_that_vanishes_while_it_is_written_is_missed(how, missed, tmp_path):
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
    assert error.value.filename == str(place / missed)
    assert error.value.strerror.startswith("it was removed while the files beside it")
    assert not (place / "SHA256SUMS").exists()


def test_what_an_inner_block_wrote_is_missed_by_the_outer_one(tmp_path):
    place = tmp_path / "model"
    with pytest.raises(FileNotFoundError) as error, ChecksummedFolder(f"{place}/"):
        write(place, {"a": "1"})
        shutil.rmtree(place)
        write(place, {"b": "2"})
    assert error.value.filename == str(place / "a")
    write(place, {"c": "3"})  # which asks for "a" no more
    assert sorted(checksums.read(place)) == ["b", "c"]


def test_other_files_keep_their_checksums(tmp_path):
    write(tmp_path, {"a": "1", "b": "1"})
    before = checksums.read(tmp_path)
    with pytest.raises(OSError, match="full"), ChecksummedFolder(tmp_path):
        raise OSError("full")
    assert checksums.read(tmp_path) == before
    with ChecksummedFolder(tmp_path) as folder:
        folder.write("b", b"2")
        write(tmp_path, {"c": "3"})
        assert sorted(checksums.read(tmp_path)) == ["c"]
    after = checksums.read(tmp_path)
    assert sorted(after) == ["a", "b", "c"]
    assert after["a"] == before["a"] and after["b"] != before["b"]
    checksums.check_folder(tmp_path)


def test_changed_files_are_refused(tmp_path):
    write(tmp_path, {"a.json": "{}", "b/c": "1"})
    checksums.check_folder(tmp_path)
    path = tmp_path / "a.json"
    path.write_text("{ }")
    message = f"{path} is damaged: its SHA-256 differs from the one in {tmp_path}"
    for check in (
        lambda: read_json_object(path),
        lambda: checksums.check_folder(tmp_path),
        lambda: checksums.check_weights(path, path),
    ):
        with pytest.raises(UserError, match=message):
            check()


def test_lists_that_others_have_written(folder):
    (folder.parent / "outside").write_bytes(b"never compared")
    (folder / "a").write_bytes(b"")
    lines = [f"{OF_NOTHING} *a", f"{WRONG}  ../outside", "\xff", "x  a"]
    (folder / "SHA256SUMS").write_text("\n".join(lines), encoding="latin-1")
    assert checksums.read(folder)["a"] == OF_NOTHING
    checksums.check_folder(folder)
    (folder / "SHA256SUMS").write_text(f"{WRONG}  a")
    with pytest.raises(UserError, match="model/a is damaged"):
        checksums.check_bytes(folder / "a", b"")
    lines = [f"{WRONG}  {name}\n" for name in ("../x", "/nowhere/y")]
    (folder / "SHA256SUMS").write_text("".join(lines))
    require_whole(folder)
    replace(folder)
    assert set(lines) < set((folder / "SHA256SUMS").read_text().splitlines(True))
    (folder / "SHA256SUMS").unlink()
    (folder / "SHA256SUMS").mkdir()
    with pytest.raises(UserError, match="/SHA256SUMS cannot be read: Is a directory"):
        checksums.read(folder)


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
def test_a_kill_leaves_the_old_files_or_the_new(function, tmp_path):
    """At each call in turn, with what follows in the block left out as by a kill."""
    call = getattr(os, function)
    for place in range(20):
        target, done = tmp_path / f"copy{place}", []
        write(target, OLD)

        def killing(*arguments, done=done, place=place):
            done.append(arguments)
            if len(done) > place:
                raise Killed
            return call(*arguments)

        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
            patch.setattr(storage, "remove_folder", lambda path: None)
            patch.setattr(os, function, killing)
            replace(target)
        with contextlib.suppress(UserError):
            require_whole(target)
            assert contents(target) in (OLD, NEW)
        finish(target)
        require_whole(target)
        checksums.check_folder(target)
        assert contents(target) in (OLD, NEW)
        if len(done) <= place:
            return
    raise AssertionError("it never ends")


def test_an_error_leaves_the_old_files_and_names_the_new_ones_place(folder):
    with pytest.raises(OSError, match="full") as error, replacing(folder) as new:
        write(new, {"b": "2"})
        raise OSError(28, f"{new}/b: full", f"{new}/b")
    assert error.value.filename == f"{folder}/b"
    assert error.value.strerror == f"{folder}/b: full"
    odd = OSError("which the system did not raise")
    with pytest.raises(OSError, match="which") as error, replacing(folder):
        raise odd
    assert error.value is odd
    assert contents(folder) == {**OLD, "mine": "0"}
    checksums.check_folder(folder)


def test_a_folder_that_cannot_be_completed(folder, monkeypatch):
    write(folder / ".ready", {"b": "2"})
    fail = mock.Mock(side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        message = f"{folder} holds a model .*: Read-only file system; make the folder w"
        with pytest.raises(UserError, match=message):
            finish(folder)
    finish(folder)
    assert contents(folder) == {"b": "2", "mine": "0"}


def test_a_file_that_is_gone_is_missed(folder):
    (folder / "a").unlink()
    for check in (require_whole, checksums.check_folder):
        with pytest.raises(UserError, match=r"/a is missing, though .*/SHA256SUMS"):
            check(folder)
    with pytest.raises(UserError, match="/a cannot be read: No such file or directory"):
        checksums.check_weights(folder / "a", folder / "a")
    replace(folder)  # which needs it no more
    require_whole(folder)


_HOLD = """
import sys
from albert_tf.io.folder_lock import folder_lock
with folder_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_run_is_told_of_the_first(tmp_path, project):
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=project, **pipes) as first:
        assert first.stdout.readline() == "held\n"
        message = f"{tmp_path} is in use by process {first.pid} on .*, which began on 2"
        with pytest.raises(UserError, match=message), folder_lock(tmp_path):
            pass
        first.kill()
    with folder_lock(tmp_path):  # the lock went with its process
        pass


def test_a_folder_is_free_again_after_the_run(tmp_path):
    def takes_it(by):
        message = f"{tmp_path} is in use by {by}"
        with pytest.raises(UserError, match=message), folder_lock(tmp_path):
            pass

    with concurrent.futures.ThreadPoolExecutor() as other_thread:
        for _ in range(2):
            with folder_lock(tmp_path), folder_lock(f"{tmp_path}/"):  # its own
                this = f"process {os.getpid()} on .*, which began on 2"
                other_thread.submit(takes_it, this).result()
                (tmp_path / ".lock").write_text("{}")  # half of a name
                other_thread.submit(takes_it, "another run; wait").result()
    assert not list(tmp_path.iterdir())
    with folder_lock("ram://folder"), folder_lock("ram://folder"):  # buckets have none
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO])
def test_a_file_system_without_locks(number, tmp_path, monkeypatch, caplog):
    fail = mock.Mock(side_effect=OSError(number, os.strerror(number)))
    monkeypatch.setattr(fcntl, "flock", fail)
    if number == errno.EIO:
        with pytest.raises(OSError, match="Input/output"), folder_lock(tmp_path):
            pass
        assert not caplog.text
    else:
        with folder_lock(tmp_path):
            assert not is_locked(tmp_path)
        assert f"file system of {tmp_path} has no locks; start only" in caplog.text


def test_a_planted_link_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".lock").symlink_to("../victim")
    with folder_lock(folder):
        assert not (folder / ".lock").is_symlink()
    assert (tmp_path / "victim").read_text() == "precious"
