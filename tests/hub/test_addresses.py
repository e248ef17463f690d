"""Addresses: no file comes unencrypted and unchecked, and no password goes astray."""

import base64
import hashlib
import json

import pytest

from albert_tf.engine.resumption import IdentityEntry
from albert_tf.engine.resumption import check_identity
from albert_tf.errors import UserError
from albert_tf.hub.downloads import download
from albert_tf.hub.downloads import shown
from albert_tf.hub.names import local_directory

_SECRETS = ("somebody", "pass%20word", "pass word", "token", "abc123")
_WITH_SECRETS = "somebody:pass%20word@127.0.0.1"


@pytest.fixture
def digest(hub, archive):
    """Serves an archive as /b.tar; returns the end of an address with its hash."""
    data = archive({"a": b"1"}, "model.tar").read_bytes()
    hub.files["/b.tar"] = (data, {})
    return f"#sha256={hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_an_unencrypted_address_needs_a_hash(scheme, hub, digest):
    url = f"{hub.url.replace('http', scheme)}/b.tar"
    message = "/b.tar is not encrypted, .*; write https://, or add #sha256= and the SHA"
    for _ in range(2):  # and though the file is in the cache
        count = len(hub.requests)
        with pytest.raises(UserError, match=message):
            local_directory(url)
        assert len(hub.requests) == count
        local_directory(url + digest)


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_no_server_leads_to_an_unencrypted_address(scheme, hub, digest, tmp_path):
    to = f"{hub.url.replace('http', scheme)}/b.tar"
    hub.files["/a.tar"] = (b"", {"Location": to})
    with pytest.raises(UserError, match=r"/b\.tar is not encrypted"):
        download(f"{hub.url}/a.tar", tmp_path / "f", lambda *_: None, is_checked=False)
    assert len(hub.requests) == 1
    local_directory(f"{hub.url}/a.tar{digest}")


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


@pytest.mark.parametrize(
    "url",
    [
        f"http://{_WITH_SECRETS}:9/a.tar?token=abc123",
        f"https://{_WITH_SECRETS}:9/a.tar?token=abc123#md5=1",
        "https://somebody:pass%20word@[::1/a.tar?token=abc123",
        "https://somebody:pass%20word@a℀b/a.tar?token=abc123",
        "https://abc123@huggingface.co/owner/name?token=abc123",
    ],
)
def test_errors_show_no_secret(url):
    for revision in (None, "main"):
        with pytest.raises(UserError) as error:
            local_directory(url, revision)
        assert not [secret for secret in _SECRETS if secret in str(error.value)]


def test_a_run_shows_no_secret():
    address = "https://pass@a/b?token=1"
    fact = IdentityEntry("init_checkpoint", address, "--init_checkpoint")
    with pytest.raises(UserError, match=r"is https://a/b\?…, but the run in x has y"):
        check_identity([fact], {"init_checkpoint": "y"}, "x")
    for path in ("a@b/c?d", "gs://bucket/a?.tfrecord", "hf://a/b@c"):
        assert shown(path) == path
