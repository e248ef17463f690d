"""Addresses and archives: safe, whole, checked, and no password goes astray."""

import base64
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import socket
import tarfile
import threading
import urllib.request

import pytest

import albert_tf
from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import check_identity
from albert_tf.errors import UserError
from albert_tf.hub import archives
from albert_tf.hub import downloads
from albert_tf.hub.downloads import download
from albert_tf.hub.downloads import shown
from albert_tf.hub.names import local_directory
from tests.saved_models import assert_same_weights

_SECRETS = ("somebody", "pass%20word", "pass word", "token", "abc123")


@pytest.fixture
def digest(hub, archive):
    """Serves an archive as /b.tar; returns the end of an address with its hash."""
    data = archive({"a": b"1"}, "model.tar").read_bytes()
    hub.files["/b.tar"] = (data, {})
    return f"#sha256={hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_an_unencrypted_address_needs_a_hash(scheme, hub, digest, tmp_path):
    url = f"{hub.url.replace('http', scheme)}/b.tar"
    hub.files["/a.tar"] = (b"", {"Location": url})
    with pytest.raises(UserError, match=r"/b\.tar is not encrypted"):  # led there
        download(f"{hub.url}/a.tar", tmp_path / "f", lambda *_: None, is_checked=False)
    assert len(hub.requests) == 1
    local_directory(f"{hub.url}/a.tar{digest}")
    message = "/b.tar is not encrypted, .*; write https://, or add #sha256= and the SHA"
    for _ in range(2):  # and though the file is in the cache
        count = len(hub.requests)
        with pytest.raises(UserError, match=message):
            local_directory(url)
        assert len(hub.requests) == count
        local_directory(url + digest)
    asked = urllib.request.Request("https://a/b")
    led = downloads._Redirected().redirect_request(
        asked, None, 302, "", {}, "https://c"
    )
    assert led.full_url == "https://c"


def test_a_password_goes_to_its_own_host_only_and_is_kept_nowhere(hub, digest, cache):
    other_host = hub.url.replace("127.0.0.1", "localhost")
    hub.files["/a.tar"] = (b"", {"Location": f"{other_host}/b.tar"})
    address = hub.url.replace("//", "//somebody:pass%20word@")
    local_directory(f"{address}/a.tar?token=abc123{digest}")
    first, second = hub.headers
    assert base64.b64decode(first["Authorization"].split()[1]) == b"somebody:pass word"
    assert "Authorization" not in second
    (record,) = (cache / "urls").iterdir()
    assert json.loads(record.read_text())["url"] == f"{hub.url}/a.tar?…"


def test_errors_and_runs_show_no_secret():
    for url, revision in itertools.product(
        (
            "http://somebody:pass%20word@127.0.0.1:9/a.tar?token=abc123",
            "https://somebody:pass%20word@127.0.0.1:9/a.tar?token=abc123#md5=1",
            "https://somebody:pass%20word@[::1/a.tar?token=abc123",
            "https://somebody:pass%20word@a℀b/a.tar?token=abc123",
            "https://abc123@huggingface.co/owner/name?token=abc123",
        ),
        (None, "main"),
    ):
        with pytest.raises(UserError) as error:
            local_directory(url, revision)
        assert not [secret for secret in _SECRETS if secret in str(error.value)]
    address = "https://pass@a/b?token=1"
    fact = IdentityEntry("init_checkpoint", address, "--init_checkpoint")
    with pytest.raises(UserError, match=r"is https://a/b\?…, but the run in x has y"):
        check_identity([fact], {"init_checkpoint": "y"}, "x")
    for path in ("a@b/c?d", "gs://bucket/a?.tfrecord", "hf://a/b@c"):
        assert shown(path) == path


@pytest.fixture
def server():
    """Sends bytes as they are to whoever asks; returns their URL."""
    sockets = []

    def serve(answer):
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)
        threading.Thread(target=_answer, args=(listening, answer), daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/model.tar.gz"
        return f"{address}#sha256={hashlib.sha256(b'abc').hexdigest()}"

    yield serve
    for each in sockets:
        each.close()


def _answer(listening, answer):
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            connection.sendall(answer)


OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
MOVED = b"HTTP/1.1 302 Found\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (CHUNKED + b"400\r\nabc", "could not be downloaded: IncompleteRead"),
        (OK + b"Content-Length: -5\r\n\r\nabc", "not a tar archive"),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nabc", "not a tar archive"),
        (OK + b"Content-Length: 9\r\n\r\nabc", "broke off after 3 of 9 bytes"),
        (OK + b"x-goog-hash: md5=a\r\n\r\nabc", "its MD5 hash differs"),
        (
            MOVED + b"Location: /model.tar.gz\r\n\r\n",
            "infinite loop; check the address",
        ),
        (MOVED + b"Location: file:///etc/passwd\r\n\r\n", "is not allowed; check the"),
    ],
)
def test_one_sentence_says_what_is_wrong(server, cache, answer, message):
    with pytest.raises(UserError, match=message) as error:
        local_directory(server(answer))
    assert "\n" not in str(error.value)
    assert not list(cache.glob("*"))


def test_addresses_of_nothing(cache):
    local = ("127.0.0.1:99999/a", "127.0.0.1:9/é b", "127.0.0.1:9/a\0b")
    named = ("", "[::1/a", f"{'a' * 70}.invalid/a", "a..b/a", *local)
    others = ("HTTP://127.0.0.1:9/a", "https://:0/", "ftp://127.0.0.1/a", "://x")
    for url in (*map("http://{}".format, named), *others):
        with pytest.raises(UserError) as error:
            local_directory(f"{url}.tar.gz#sha256={'0' * 64}")
        assert "\n" not in str(error.value)


def test_a_fragment_that_nothing_compares():
    for fragment in ("sha512=00", "sha256=12", "SHA-256=" + "0" * 64, ""):
        with pytest.raises(UserError, match=f"#{fragment}: expected nothing, or #sha"):
            local_directory(f"http://127.0.0.1:9/a.tar.gz#{fragment}")


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


def test_the_hash_of_a_url(hub, digest, cache, leftovers):
    digest = digest.removeprefix("#sha256=")
    wrong = f"{hub.url}/b.tar#sha256={'0' * 64}"
    with pytest.raises(UserError, match=f"has the SHA-256 hash {digest}, not 000"):
        local_directory(wrong)
    assert not leftovers()
    assert not (cache / "archives").exists()
    for right in (f"sha256={digest}", f"SHA256={digest.upper()}"):
        assert local_directory(f"{hub.url}/b.tar#{right}").endswith(digest)
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


def test_damaged_headers_and_compression_are_no_end(archive, leftovers):
    path = archive(dict.fromkeys("abc", b"hello"), "model.tar")
    assert sorted(os.listdir(local_directory(path))) == ["a", "b", "c"]
    tar = path.read_bytes()
    packed = archive({"a": os.urandom(50_000)}).read_bytes()
    for name, data in (
        ("model.tar", tar[:1024] + b"?" + tar[1025:]),  # the second header
        ("model.tar", tar[:1024] + bytes(1024) + tar[2048:]),
        ("model.tar", tar[:2048]),  # without an end, between two files
        ("model.tar", tar + tar),
        *(
            ("model.tar.gz", bytes([*packed[:i], packed[i] ^ 255, *packed[i + 1 :]]))
            for i in (30, len(packed) - 5)
        ),
        ("model.tar.gz", packed[:1000]),
    ):
        path.with_name(name).write_bytes(data)
        with pytest.raises(UserError, match=rf"{name} is damaged or not a tar archive"):
            local_directory(path.with_name(name))
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
    # Earlier versions wrote no list, so that the folder is taken as it is.
    damage(pathlib.Path(local_directory(path)) / "b")
    folder.with_suffix(".json").unlink()
    before = sorted(os.listdir(folder))
    for _ in range(2):
        assert local_directory(path) == str(folder)
    assert sorted(os.listdir(folder)) == before
    damage(folder / "a")
    local_directory(path)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes() == b"hello"


@pytest.mark.parametrize("is_there", [True, False])
def test_another_process_that_was_first(archive, leftovers, monkeypatch, is_there):
    def rename(source, target):
        if is_there:
            shutil.copytree(source, target)
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(os, "rename", rename)
    path = archive({"a/b": b"1", "c": b"2"})
    if is_there:
        assert sorted(os.listdir(local_directory(path))) == ["a", "c"]
    else:
        message = "model.tar.gz cannot be kept in .*: Directory not empty; make room"
        with pytest.raises(UserError, match=message):
            local_directory(path)
    assert not leftovers()


def test_no_room_for_a_cache(archive, monkeypatch):
    path = archive({"a": b"1"})
    for place, message in (
        ("~no-such-user/x", "no home folder to keep downloads in ~no-such-user/x; set"),
        (f"{path}/x", f"cannot be kept in {path}/x: Not a directory; make room"),
    ):
        monkeypatch.setenv("ALBERT_TF_CACHE", place)
        with pytest.raises(UserError, match=message):
            local_directory(path)


def test_too_large(archive, cache, leftovers, monkeypatch):
    path = archive({"a": bytes(600), "b": bytes(600)})
    for size, free in ((2 * 10**10, None), (5, 5), (0, 0)):
        archives._check_size(size, free, "x")
    for size, free, message in (
        (2 * 10**10 + 1, 10**12, "x has more than 20 GB, which no ALBERT has; unpack"),
        (6, 5, "x needs 0.00 GB or more, but"),
        (
            3 * 10**9,
            10**9,
            f"x needs 3.00 GB or more, but {cache} has room for 1.00 GB",
        ),
    ):
        with pytest.raises(UserError, match=message):
            archives._check_size(size, free, "x")
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
