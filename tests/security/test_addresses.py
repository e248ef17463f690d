"""Addresses: no file comes unencrypted and unchecked, and no password goes astray."""

import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading

import pytest

from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import check_identity
from albert_tf.errors import UserError
from albert_tf.hub.downloads import download
from albert_tf.hub.downloads import shown
from albert_tf.hub.names import local_directory

_SECRETS = ("somebody", "pass%20word", "pass word", "token", "abc123")


@pytest.fixture(autouse=True)
def _own_cache(cache):
    """Every test here unpacks into a cache of its own."""


@pytest.fixture
def server():
    """Serves `files`, {path: bytes, or the address to go to}; keeps `headers`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            served.headers.append(dict(self.headers))
            found = served.files.get(self.path.partition("?")[0])
            self.send_response(
                404 if found is None else 200 + 102 * isinstance(found, str)
            )
            if isinstance(found, str):
                self.send_header("Location", found)
            self.end_headers()
            if isinstance(found, bytes):
                self.wfile.write(found)

        def log_message(self, *arguments):
            """Says nothing."""

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.files, served.headers = {}, []
    served.place = f"127.0.0.1:{served.server_port}"
    threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.fixture
def archive():
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("a"))
    return content.getvalue()


def _hashed(content):
    return f"#sha256={hashlib.sha256(content).hexdigest()}"


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_an_unencrypted_address_needs_a_hash(scheme, server, archive, cache):
    server.files["/a.tar"] = archive
    url = f"{scheme}://{server.place}/a.tar"
    message = "/a.tar is not encrypted, .*; write https://, or add #sha256= and the SHA"
    for _ in range(2):  # and though the file is in the cache
        count = len(server.headers)
        with pytest.raises(UserError, match=message):
            local_directory(url)
        assert len(server.headers) == count
        local_directory(url + _hashed(archive))


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_no_server_leads_to_an_unencrypted_address(scheme, server, archive, tmp_path):
    server.files |= {"/a.tar": f"{scheme}://{server.place}/b.tar", "/b.tar": archive}
    url = f"http://{server.place}/a.tar"
    with pytest.raises(UserError, match=r"/b\.tar is not encrypted"):
        download(url, tmp_path / "file", lambda *_: None, is_checked=False)
    assert len(server.headers) == 1
    local_directory(url + _hashed(archive))


def test_a_password_goes_to_its_own_host_only_and_is_kept_nowhere(
    server, archive, cache
):
    place, digest = server.place.replace("127.0.0.1", "localhost"), _hashed(archive)
    server.files |= {"/a.tar": f"http://{place}/b.tar", "/b.tar": archive}
    local_directory(
        f"http://somebody:pass%20word@{server.place}/a.tar?token=abc123{digest}"
    )
    first, second = server.headers
    assert base64.b64decode(first["Authorization"].split()[1]) == b"somebody:pass word"
    assert "Authorization" not in second
    (record,) = (cache / "urls").iterdir()
    assert json.loads(record.read_text())["url"] == f"http://{server.place}/a.tar?…"


@pytest.mark.parametrize(
    "url",
    [
        "http://somebody:pass%20word@127.0.0.1:9/a.tar?token=abc123",
        "https://somebody:pass%20word@127.0.0.1:9/a.tar?token=abc123",
        "https://somebody:pass%20word@127.0.0.1:9/a.tar?token=abc123#md5=1",
        "https://somebody:pass%20word@127.0.0.1:9/a.tar?token= abc123",
        "https://somebody:pass%20word@127.0.0.1:port/a.tar?token=abc123",
        "https://somebody:pass%20word@[::1/a.tar?token=abc123",
        "https://somebody:pass%20word@a℀b/a.tar?token=abc123",
        "https://abc123@huggingface.co/owner/name?token=abc123",
        "ftp://somebody:pass%20word@127.0.0.1/a.tar?token=abc123",
    ],
)
def test_errors_show_no_secret(url):
    for revision in (None, "main"):
        with pytest.raises(UserError) as error:
            local_directory(url, revision)
        assert not [secret for secret in _SECRETS if secret in str(error.value)]


def test_a_run_shows_no_secret():
    fact = IdentityEntry(
        "init_checkpoint", "https://pass@a/b?token=1", "--init_checkpoint"
    )
    with pytest.raises(UserError, match=r"is https://a/b\?…, but the run in x has y"):
        check_identity([fact], {"init_checkpoint": "y"}, "x")


@pytest.mark.parametrize("path", ["a@b/c?d", "gs://bucket/a?.tfrecord", "hf://a/b@c"])
def test_paths_and_other_names_stay(path):
    assert shown(path) == path
