"""Archives by URL and as files: safe, whole, and unpacked once."""

import base64
import hashlib
import os
import pathlib
import tarfile

import pytest

import albert_tf
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.hub import archives
from albert_tf.hub.names import local_directory
from tests.saved_models import assert_same_weights


@pytest.fixture
def official(tmp_path, tiny_config, material, archive):
    model = albert_tf.AlbertForPreTraining(tiny_config(vocab_size=36))
    folder = tmp_path / "albert_base"
    save_tf1_checkpoint(model, folder / "model.ckpt-best")
    members = {f"albert_base/{p.name}": p.read_bytes() for p in folder.iterdir()}
    members["albert_base/30k-clean.model"] = (material / "vocab.model").read_bytes()
    return archive(members), model


def test_a_url_is_asked_once(hub, official, monkeypatch):
    path, _ = official
    data = path.read_bytes()
    md5 = base64.b64encode(hashlib.md5(data).digest()).decode()  # as Google's storage
    headers = {"x-goog-hash": f"crc32c=AAAAAA==,md5={md5}"}
    hub.files["/models/albert.tar.gz"] = (data, headers)
    url = hub.address("/models/albert.tar.gz")
    folder = local_directory(url)
    assert os.path.isfile(os.path.join(folder, "albert_config.json"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert local_directory(url) == folder
    assert len(hub.requests) == 1
    assert local_directory(path) == folder  # the same hash
    with pytest.raises(UserError, match="HF_HUB_OFFLINE forbids downloading it"):
        local_directory(hub.address("/models/other.tar.gz"))


def test_an_official_archive(official, cache, leftovers):
    path, model = official
    loaded = albert_tf.AlbertForPreTraining.from_pretrained(path)
    assert_same_weights(loaded, model)
    assert albert_tf.load_tokenizer(path).vocab_size == 36
    folder = pathlib.Path(local_directory(path))
    assert folder.name == "albert_base"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert folder.parent == cache / "archives" / digest
    assert not leftovers()


def test_the_hash_of_a_url(hub, archive, cache, leftovers):
    data = archive({"a": b"1"}).read_bytes()
    hub.files["/a.tar.gz"] = (data, {})
    digest = hashlib.sha256(data).hexdigest()
    wrong = f"{hub.url}/a.tar.gz#sha256={'0' * 64}"
    with pytest.raises(UserError, match=f"has the SHA-256 hash {digest}, not 000"):
        local_directory(wrong)
    assert not leftovers()
    assert not (cache / "archives").exists()
    for right in (f"sha256={digest}", f"SHA256={digest.upper()}"):
        assert local_directory(f"{hub.url}/a.tar.gz#{right}").endswith(digest)
    with pytest.raises(UserError, match=f"has the SHA-256 hash {digest}, not 000"):
        local_directory(wrong)  # though it is in the cache


def test_unsafe_archives(archive, cache, leftovers, tmp_path):
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    for name, member, message in (
        ("../outside", b"1", "not safe to unpack: .*outside the destination"),
        ("link", link, "not safe to unpack: link is neither a file nor a folder"),
    ):
        with pytest.raises(UserError, match=message):
            local_directory(archive({"first": b"1", name: member}))
        assert not leftovers()
        assert not list(tmp_path.rglob("outside"))
        assert not (cache / "archives").exists()


def test_paths_from_the_root_stay_in_the_cache(archive, cache):
    folder = local_directory(archive({"/a": b"1", "./b": b"2"}))
    assert sorted(os.listdir(folder)) == ["a", "b"]
    assert pathlib.Path(folder).parent == cache / "archives"


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:1024] + b"?" + data[1025:],  # the second header
        lambda data: data[:1024] + bytes(1024) + data[2048:],
        lambda data: data[:2048],  # without an end, between two files
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


def test_damaged_compression(archive, leftovers):
    path = archive({"a": os.urandom(50_000)})
    whole = path.read_bytes()
    flipped = [bytes([*whole[:i], whole[i] ^ 255, *whole[i + 1 :]]) for i in (30, -5)]
    for data in (*flipped, whole[:1000]):
        path.write_bytes(data)
        with pytest.raises(UserError, match=r"\.tar\.gz is damaged or not a tar arch"):
            local_directory(path)
        assert not leftovers()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"jello"),
        lambda path: path.unlink(),
        lambda path: path.with_name("more").write_bytes(b""),
    ],
    ids=["changed", "removed", "added"],
)
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


def test_too_large(archive, cache, leftovers, monkeypatch):
    path = archive({"a": bytes(600), "b": bytes(600)})
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE", 1000)
    with pytest.raises(UserError, match="has more than 1e-06 GB, which no ALBERT has"):
        local_directory(path)
    monkeypatch.undo()
    monkeypatch.setenv("ALBERT_TF_CACHE", str(cache))
    usage = archives.shutil.disk_usage(path)
    monkeypatch.setattr(
        archives.shutil, "disk_usage", lambda _: usage._replace(free=1000)
    )
    with pytest.raises(UserError, match="has room for 0.00 GB; make room, or name"):
        local_directory(path)
    assert not leftovers()
