"""Servers, networks and addresses that fail."""

import hashlib
import socket
import threading

import pytest

from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory


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
