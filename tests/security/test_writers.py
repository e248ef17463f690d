"""Several writers of a file: readers see one of them whole."""

import concurrent.futures
import fcntl
import os
import threading

import numpy as np

from albert_tf.io.files import replacing_file
from albert_tf.io.files import write_atomically
from albert_tf.tasks.tokenized_examples import cached


def test_each_writer_has_a_file_of_its_own_with_the_users_rights(tmp_path):
    path, usual = tmp_path / "a", tmp_path / "usual"
    usual.write_text("")
    with replacing_file(path) as outer:
        outer.write(b"outer")
        write_atomically(path, b"inner")
        assert path.read_bytes() == b"inner"
    assert path.read_bytes() == b"outer"
    assert path.stat().st_mode == usual.stat().st_mode


def test_what_killed_writers_left_is_removed(tmp_path):
    path = tmp_path / "a[1]"
    left = ["a[1].01234567", "a[1].89abcdef", "a[1].mine", "b.01234567"]
    names = [f"{name}.tmp" for name in left]
    for name in names:
        (tmp_path / name).write_text("half")
    with open(tmp_path / names[1], "rb") as in_use:
        fcntl.flock(in_use, fcntl.LOCK_EX)
        write_atomically(path, b"1")
    assert sorted(os.listdir(tmp_path)) == sorted(["a[1]", *names[1:]])


def test_a_new_file_that_another_writer_takes_for_a_leftover(tmp_path, monkeypatch):
    lock, made = fcntl.flock, []

    def too_late(file, how):
        made.append(file)
        if len(made) < 3:
            os.remove(file.name)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    write_atomically(tmp_path / "a", b"1")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"1"
    assert [file.closed for file in made] == [True] * 3


def test_two_workers_fill_one_cache(tmp_path):
    both = threading.Barrier(2)

    def make():
        both.wait()
        return {"a": np.arange(5)}

    def fill(_, make=make):
        return cached(tmp_path, ["facts"], lambda a: a, make)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = [*pool.map(fill, range(2))]
    for array in (*made, fill(2, None)):
        np.testing.assert_array_equal(array, np.arange(5))
    assert len(os.listdir(tmp_path)) == 1
