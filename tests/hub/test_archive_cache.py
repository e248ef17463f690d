"""Damage of an archive, and of what the cache holds, is noticed."""

import os
import pathlib

import pytest

from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:1024] + b"?" + data[1025:],  # the second header
        lambda data: data[:1024] + bytes(512) + data[1536:],
        lambda data: data[:1024] + bytes(1024) + data[2048:],
        lambda data: data[:2048],  # without an end, between two files
        lambda data: data[:1024] + data[1024:1300],
        lambda data: data + data,
    ],
)
def test_a_damaged_header_is_no_end(archive, leftovers, change):
    path = archive(dict.fromkeys("abc", b"hello"), "model.tar")
    assert sorted(os.listdir(local_directory(path))) == ["a", "b", "c"]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UserError, match=r"model\.tar is damaged or not a tar archive"):
        local_directory(path)
    assert not leftovers()


def changed(path):
    path.write_bytes(b"jello")


def removed(path):
    path.unlink()


def added(path):
    path.with_name("more").write_bytes(b"")


@pytest.mark.parametrize("damage", [changed, removed, added])
def test_what_is_damaged_in_the_cache_is_unpacked_again(
    hub, archive, monkeypatch, damage
):
    path = archive(dict.fromkeys("ab", b"hello"), "model.tar")
    hub.files["/m.tar"] = (path.read_bytes(), {})
    for source in (path, hub.address("/m.tar")):
        folder = pathlib.Path(local_directory(source))
        damage(folder / "b")
        assert local_directory(source) == str(folder)
        assert sorted(os.listdir(folder)) == ["a", "b"]
        assert (folder / "b").read_bytes() == b"hello"
    damage(folder / "b")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="or is damaged there, and HF_HUB_OFFLINE"):
        local_directory(hub.address("/m.tar"))


def test_what_an_earlier_version_unpacked_gets_a_list(archive):
    path = archive(dict.fromkeys("ab", b"hello"), "model.tar")
    folder = pathlib.Path(local_directory(path))
    list_of_files = folder.with_name(f"{folder.name}.json")
    list_of_files.unlink()
    assert local_directory(path) == str(folder)
    assert list_of_files.is_file()
