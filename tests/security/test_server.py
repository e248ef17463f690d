"""Clients that are slow, gone, many or hostile harm no other client of the server."""

import asyncio
import concurrent.futures
import contextlib
import gzip
import json
import logging
import re
import socket
import threading
import time
import types

import h11
import numpy as np
import pytest
from absl import logging as absl_logging

from albert_tf.commands import serve
from albert_tf.errors import UserError
from albert_tf.serving.server import Connection
from albert_tf.serving.server import _Chunks
from tests.child_processes import wait_until
from tests.serving.served import Lengths
from tests.serving.served import ask
from tests.serving.served import running

PATH = b"/v1/models/m:predict"
HEAD = b"POST " + PATH + b" HTTP/1.1\r\nHost: m\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ANY_VERSION = b"GET /v1/models/m/versions/%s HTTP/1.1\r\nHost: m\r\n\r\n"
ONE = b'{"inputs": ["abc"]}'
ANSWER = {"outputs": {"length": [3], "first": ["a"]}}
# Without the time, which would be another in each worker's names of tests.
PACKED = gzip.compress(ONE, mtime=0)
PACKED_IN_TWO = b"".join(gzip.compress(part, mtime=0) for part in (ONE[:5], ONE[5:]))
BOMB = gzip.compress(b" " * (1 << 22) + ONE, mtime=0)


def with_body(body, size=None, headers=b""):
    size = len(body) if size is None else size
    return HEAD + headers + b"Content-Length: %d\r\n\r\n" % size + body


def connected(port):
    connection = socket.socket()
    connection.settimeout(20)
    # Of a fixed size: the kernel's own may grow until all answers fit.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
    connection.connect(("127.0.0.1", port))
    return contextlib.closing(connection)


def asked(server, *texts):
    return ask(server.port, body={"inputs": texts or ["abc"]})


def answers(server):
    return asked(server)[:2] == (200, ANSWER)


def received(connection, answers=1, seconds=20):
    """Returns some answers, or less if the server hangs up or is silent."""
    connection.settimeout(seconds)
    found = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while complete(found) < answers and (part := connection.recv(1 << 16)):
            found += part
    return found


def complete(answer):
    """Counts the answers that have come whole."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", head)
    if not size or len(rest) < int(size[1]):
        return 0
    return 1 + complete(rest[int(size[1]) :])


def statuses(answer):
    return [int(a.split(b" ", 1)[0]) for a in answer.split(b"HTTP/1.1 ")[1:]]


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Lists the errors that are logged; a test that expects one takes it out."""
    records, told = [], logging.Handler(logging.ERROR)
    told.emit = records.append
    loggers = [logging.getLogger(name) for name in ("uvicorn", "asyncio")]
    loggers += [absl_logging.get_absl_logger()]
    configure = logging.config.dictConfig

    def dict_config(config):  # it takes the handlers away
        configure(config)
        loggers[0].addHandler(told)

    monkeypatch.setattr(logging.config, "dictConfig", dict_config)
    for logger in loggers[1:]:
        logger.addHandler(told)
    yield records
    for logger in loggers:
        logger.removeHandler(told)
    assert [record.getMessage() for record in records] == []


@contextlib.contextmanager
def served_to(count, model=None, **limits):
    """Runs a server; gives it, threads to ask it from, and some connections to it."""
    with (
        running(model or Lengths(), **limits) as server,
        concurrent.futures.ThreadPoolExecutor() as pool,
        contextlib.ExitStack() as stack,
    ):
        ends = [stack.enter_context(connected(server.port)) for _ in range(count)]
        yield server, pool, ends


@pytest.fixture(scope="module")
def server():
    limits = {"max_request_bytes": 1 << 22, "max_waiting_rows": 50, "max_rows": 8}
    with running(Lengths(), **limits) as server:
        yield server


@pytest.mark.slow
def test_those_that_send_nothing_give_way():
    with served_to(100, max_connections=20) as (server, _, _):
        assert answers(server)
        wait_until(lambda: len(server.connections.unread) <= 20, 5)
    with served_to(100) as (server, _, every):
        wait_until(lambda: len(server.connections.unread) == len(every), 5)


@pytest.mark.slow
def test_too_many_that_wait_for_answers():
    """A connection above the limit is told when to come again."""
    with served_to(0, Lengths(0.5), max_connections=2) as (server, pool, _):
        first = [pool.submit(asked, server, "a") for _ in range(2)]
        time.sleep(0.2)
        status, content, headers = asked(server, "a")
        assert [each.result()[0] for each in first] == [200, 200]
        assert (status, headers["retry-after"]) == (503, "1")
        assert "too many connections" in content["error"]
        assert server.counted(503) == 1


def test_slow_senders_of_heads_and_bodies():
    with served_to(4, max_read_seconds=0.3) as (server, _, ends):
        head, body, nothing, idle = ends
        idle.sendall(with_body(ONE))
        assert statuses(received(idle)) == [200]
        head.sendall(HEAD)
        for part in (with_body(b"{", 1000), b" ", b" "):
            body.sendall(part)
            time.sleep(0.1)
        got = [received(each) for each in (head, body, nothing)]
        assert [statuses(answer) for answer in got] == [[408], [408], []]
        assert server.counted(408) == 2
        assert b"The request took more than 0.3 seconds." in got[0]
        assert idle.recv(1) == b""


def test_half_bodies_hold_few_bytes():
    limits = {"max_held_bytes": 1 << 16, "max_request_bytes": 1 << 15}
    with served_to(31, **limits) as (server, _, (small, *slow)):
        small.sendall(with_body(ONE[:5], len(ONE)))
        for each in slow:
            each.sendall(with_body(b" " * 10_000, 20_000))
        wait_until(lambda: server.counted(503) == 24, 5)
        assert server.connections.held <= 1 << 16
        assert answers(server)
        answer = received(slow[0])
        assert statuses(answer) == [503]
        assert b"retry-after: 1" in answer
        small.sendall(ONE[5:])
        assert statuses(received(small)) == [200]
        for each in (small, *slow):
            each.close()
        wait_until(lambda: server.connections.held == 0, 5)
        wait_until(lambda: server.counted(499) == 6, 5)
        assert server.counted(500) == 0


def test_one_that_alone_holds_too_many_gives_way_itself():
    with served_to(1, max_held_bytes=1 << 16) as (server, _, (large,)):
        large.sendall(with_body(b" " * 100_000, 200_000))
        wait_until(lambda: server.counted(503) == 1, 5)
        assert statuses(received(large)) in ([503], [])
        wait_until(lambda: server.connections.held == 0, 5)
        assert answers(server)
        assert server.counted(499) == 0


@pytest.mark.parametrize(
    ("state", "counted", "written"),
    [(h11.IDLE, [408], 1), (h11.SEND_RESPONSE, [], 1), (h11.SEND_BODY, [], 0)],
)
def test_a_refusal_is_no_part_of_an_answer(state, counted, written):
    found, make = [], types.SimpleNamespace
    sent, ended = [], []
    cycle = make(disconnected=False, message_event=asyncio.Event())
    connection = make(
        conn=make(our_state=state),
        transport=make(write=sent.append, write_eof=lambda: ended.append(True)),
        _all=make(count=found.append),
        _hold=lambda received: ended.append(received),
        scope={},
        cycle=cycle,
    )
    Connection.refuse(connection, 408, "Too slow.")
    assert (found, len(sent), ended) == (counted, written, [0, True])
    assert connection._is_refused
    asks = state is h11.SEND_RESPONSE  # the application counts it, and ends
    assert connection.scope == ({"refused": 408} if asks else {})
    assert cycle.disconnected == cycle.message_event.is_set() == asks


_CUT = f"The model takes text, but got {'x' * 9_000}"[:1000]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"[" + b"[]," * 1_000_000 + b"[]]", 413, "request has 1000001 texts for text"),
        (b"[" * 900 + b"]" * 900, 400, "text[0] must be a str, got list."),
        (b"[" * 100_000 + b"]" * 100_000, 400, "it is nested too deeply"),
        (b'{"\\ud800": ["a"]}', 400, "but got \ud800"),
        (b'{"' + b"x" * 9_000 + b'": ["a"]}', 400, _CUT),
        (b"1" * 9_000, 400, "The request is no JSON"),
        (b'["' + b'","' * 50 + b'"]', 413, "51 texts for text; the server takes 50 at"),
        (b'["' + b'","' * 49 + b'"]', 200, ""),
    ],
)
def test_hostile_bodies(server, body, status, message):
    slowest, done = [], threading.Event()

    def ask_others():
        while not done.is_set():
            start = time.perf_counter()
            assert ask(server.port, "")[0] == 200
            slowest.append(time.perf_counter() - start)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        others = pool.submit(ask_others)
        found, content, _ = ask(server.port, raw=b'{"inputs": ' + body + b"}")
        done.set()
        others.result()
    assert found == status
    assert message in content.get("error", "")
    assert len(content.get("error", "")) <= 1000
    assert max(slowest) < 1


@pytest.mark.parametrize(
    ("raw", "coding", "status", "message"),
    [
        (PACKED, "gzip", 200, ""),
        (PACKED_IN_TWO, "GZIP", 200, ""),
        (BOMB, "gzip", 413, "more than 4194304 bytes"),
        (PACKED[:-9], "gzip", 400, "The request is no gzip: "),
        (ONE, "gzip", 400, "The request is no gzip: "),
        (b"x", "br", 415, "Content-Encoding is br: send gzip"),
        (PACKED, "gzip, gzip", 415, "Content-Encoding is"),
    ],
)
def test_compressed_bodies(server, raw, coding, status, message):
    headers = {"Content-Encoding": coding}
    found, content, headers = ask(server.port, raw=raw, headers=headers)
    assert found == status
    assert content == ANSWER if status == 200 else message in content["error"]
    assert (headers["accept-encoding"] == "gzip") == (status == 415)


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (CHUNKED + b"1\r\n \r\n" * 400_000, 400, b"Invalid HTTP"),
        (CHUNKED + b"5;" + b"x" * 100_000, 400, b"Invalid HTTP"),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, b"Invalid"),
        (with_body(b"", 1 << 60), 413, b"more than 4194304 bytes"),
        (HEAD + b"X: " + b"x" * 1_000_000, 400, b"Invalid HTTP"),
        (b"\0" * 100, 400, b"Invalid HTTP"),
        (b"GET /%ff%00 HTTP/1.1\r\nHost: m\r\n\r\n", 404, b"Not Found"),
        (ANY_VERSION % (b"9" * 5000), 404, b"m has no version 999"),
    ],
    ids=range(8),
)
def test_hostile_http(server, sent, status, message):
    before = server.counted(status)
    with connected(server.port) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
        answer = received(connection)
    assert statuses(answer) == [status]
    assert message in answer
    assert json.loads(answer.split(b"\r\n\r\n")[1])["error"]
    wait_until(lambda: server.counted(status) == before + 1, 5)
    assert answers(server)


def test_chunks_of_a_body():
    """1,024 of any size, and one for each 256 bytes of the largest request."""
    connection = _Chunks(256 * 255)
    for count in (1279, 1279, 1280):
        connection.receive_data(CHUNKED + b"1\r\n \r\n" * count + b"0\r\n\r\n")
        assert type(connection.next_event()) is h11.Request
        for _ in range(1279):
            assert type(connection.next_event()) is h11.Data
        if count == 1279:
            assert type(connection.next_event()) is h11.EndOfMessage
            head = h11.Response(status_code=200, headers=[("content-length", "0")])
            connection.send(head)
            connection.send(h11.EndOfMessage())
            connection.start_next_cycle()
    with pytest.raises(h11.RemoteProtocolError, match="too many chunks"):
        connection.next_event()


def test_requests_in_a_row_and_those_that_wait_for_100(server):
    bodies = [b'{"inputs": ["%s"]}' % (b"a" * i) for i in range(5)]
    with connected(server.port) as connection:
        connection.sendall(b"".join(map(with_body, bodies)))
        answer = received(connection, 5)
        wait_until(lambda: server.connections.held == 0, 5)
    assert statuses(answer) == [200] * 5
    assert re.findall(rb'"length":.(\d)', answer) == [*map(b"%d".__mod__, range(5))]
    expects = b"Expect: 100-continue\r\n"
    with connected(server.port) as connection:
        connection.sendall(with_body(b"", len(ONE), expects))
        assert connection.recv(1 << 10).startswith(b"HTTP/1.1 100 ")
        connection.sendall(ONE)
        assert statuses(received(connection)) == [200]
    with connected(server.port) as connection:
        connection.sendall(with_body(b"", 1 << 30, expects))
        answer = received(connection)
        assert statuses(answer) == [413]
        assert b"connection: close" in answer


@pytest.mark.slow
def test_requests_of_those_who_have_gone_leave_the_queue():
    model = Lengths(0.4)
    limits = {"workers": 1, "max_rows": 1, "max_waiting_rows": 20}
    with served_to(16, model, **limits) as (server, _, ends):
        for count, gone in zip((4, *[1] * 15), ends, strict=True):
            gone.sendall(with_body(json.dumps({"inputs": ["a"] * count}).encode()))
        time.sleep(0.1)
        for gone in ends:
            gone.close()
        wait_until(lambda: server.counted(499) == 16, 5)
        assert "albert_waiting_rows 0.0" in ask(server.port, "/metrics")[1]
        assert asked(server, "a")[0] == 200
        assert "albert_rows_total 1.0" in ask(server.port, "/metrics")[1]
        assert server.counted(200) == 1
    assert len(model.calls) <= 3


@pytest.mark.slow
def test_a_large_request_is_answered_in_parts_and_lets_others_through():
    model, texts = Lengths(0.05), ["a" * (i * 7 % 40) for i in range(40)]
    limits = {"workers": 1, "max_rows": 2, "max_waiting_rows": 40}
    with served_to(0, model, **limits) as (server, pool, _):
        large = pool.submit(asked, server, *texts)
        wait_until(lambda: model.calls, 5)
        assert answers(server)
        assert not large.done()
        status, content, _ = large.result()
    assert status == 200
    assert content["outputs"]["length"] == [*map(len, texts)]
    assert content["outputs"]["first"] == [text[:1] for text in texts]
    assert model.calls == [2] * model.calls.count(2) + [1] or sum(model.calls) == 41


@pytest.mark.slow
def test_an_end_drops_halves_and_answers_the_rest():
    with served_to(3, Lengths(0.5), max_rows=1) as (server, pool, ends):
        head, body, _ = ends
        head.sendall(HEAD)
        body.sendall(with_body(b"{", 1000))
        whole = pool.submit(answers, server)
        time.sleep(0.2)
        start = time.monotonic()
        server.uvicorn.should_exit = True
        got = [statuses(received(each)) for each in ends]
        assert got == [[503], [503], []]
        assert whole.result()
    assert time.monotonic() - start < 5


def test_fewer_files_than_connections(monkeypatch):
    limits, set_to = serve.ServeOptions(max_connections=2000), []
    no_limit = serve.resource.RLIM_INFINITY
    monkeypatch.setattr(serve.resource, "setrlimit", lambda _, to: set_to.append(to))
    for most, expected in (
        ((100, 100_000), 2000),
        ((100, 1024), 256),
        ((50_000, 50_000), 2000),
        ((2768, 100_000), 2000),  # just enough
        ((2767, 2767), 1999),
        ((100, 700), 1),
        ((100, no_limit), 2000),
        ((no_limit, no_limit), 2000),
    ):
        monkeypatch.setattr(serve.resource, "getrlimit", lambda _, most=most: most)
        assert serve._within_open_files(limits).max_connections == expected
    most = 2000 + 4 * 128 + 256
    others = [(1024, 1024), (2767, 2767), (700, 700)]
    assert set_to == [(most, 100_000), *others, (most, no_limit)]
    with pytest.raises(UserError, match="host= is empty: give an address"):
        serve.serve(
            serve.ServeOptions(model_dir="m", host="", max_request_bytes=1 << 25)
        )
    with pytest.raises(UserError, match="expected at least twice max_request_bytes=33"):
        serve.serve(
            serve.ServeOptions(model_dir="m", host="", max_request_bytes=(1 << 25) + 1)
        )


@pytest.mark.slow
def test_an_error_of_the_server_is_of_the_guilty_alone(told):
    limits = {"max_delay_ms": 300, "workers": 1}
    with served_to(0, Lengths(0.1), **limits) as (server, pool, _):
        texts = ("before", "broken", "behind")
        waiting = [pool.submit(asked, server, text) for text in texts]
        got = [each.result() for each in waiting]
        assert [status for status, _, _ in got] == [200, 500, 200]
        assert got[1][1] == {"error": "The server failed; its log says why."}
        assert [own.get("connection") for _, _, own in got] == [None, "close", None]
        assert server.counted(500) == 1
    (record,) = told
    assert record.exc_info
    told.clear()


def test_paths_as_others_have_them(server):
    assert ask(server.port, "/healthz", base="")[:2] == (200, {"status": "ok"})
    assert ask(server.port, "/v1/models", base="")[:2] == (200, {"models": ["m"]})
    before = server.counted(404), server.counted(405)
    status, content, _ = ask(server.port, "/v2", base="")
    assert (status, content) == (404, {"error": "GET /v2: Not Found."})
    status, content, headers = ask(server.port, ":predict")
    assert (status, headers["allow"]) == (405, "POST")
    assert content == {"error": "GET /v1/models/m:predict: Method Not Allowed."}
    assert ask(server.port, "/versions/9")[0] == 404
    assert (server.counted(404), server.counted(405)) == (before[0] + 2, before[1] + 1)


class Large(Lengths):
    """A model whose answers fill the buffers of a connection."""

    def outputs(self, columns, batch_size):
        return {"length": np.zeros([len(columns["text"]), 3_000_000], int)}


def test_clients_that_do_not_read():
    with served_to(2, Large(), max_read_seconds=1) as (server, _, ends):
        connection, slow = ends
        connection.sendall(with_body(ONE) * 2)
        slow.sendall(with_body(ONE))
        read = 0
        while read < 6_000_000:
            part = slow.recv(1 << 18)
            assert part
            read += len(part)
            time.sleep(0.02)
        wait_until(lambda: not server.connections.unread, 5)
        got = 0
        while part := connection.recv(1 << 18):
            got += len(part)
        assert 0 < got < 6_000_000


def read_by(connection):
    """The number of bytes until the server hangs up."""
    found = 0
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 18):
            found += len(part)
    return found


@pytest.mark.slow
def test_an_end_lets_clients_read_their_answers():
    with served_to(1, Large()) as (server, _, (slow,)):
        slow.sendall(with_body(ONE))
        begun = len(slow.recv(1 << 10))
        server.uvicorn.should_exit = True
        time.sleep(0.5)
        assert begun and begun + read_by(slow) > 6_000_000


@pytest.mark.slow
def test_an_answer_may_take_longer_than_a_request():
    class Later(Large):
        """A model whose second answer takes longer than anyone may send or read."""

        def outputs(self, columns, batch_size):
            self.calls.append(1)
            time.sleep(1.5 * (len(self.calls) - 1))
            return super().outputs(columns, batch_size)

    with served_to(1, Later(), max_read_seconds=0.5) as (_, _, (connection,)):
        connection.sendall(with_body(ONE) * 2)
        assert read_by(connection) > 12_000_000
