"""Times and statuses of a client of `albert-tf serve` while others attack the server.

  python -m benchmarks.faults.server --export_dir=served/sst-2

Some connections say nothing, some send half a body, and one client sends a hostile
body after the other; whoever is sent away comes back. Meanwhile an honest client asks
for one answer after the other. Shown are its times, the statuses, and the memory of the
server before, during and after the attack.
"""

import collections
import contextlib
import dataclasses
import http.client
import multiprocessing
import pathlib
import socket
import time

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from benchmarks.serve_http import run_server

_PATH = "/v1/models/m:predict"
_HALF = f"POST {_PATH} HTTP/1.1\r\nHost: m\r\nContent-Length: 1000000\r\n\r\n".encode()
_HALF += b" " * 500_000
_HOSTILE = (
    b'{"inputs": [' + b"[]," * 340_000 + b"[]]}",
    b"[" * 900 + b"]" * 900,
    b'{"inputs": {' + b'"a":{},' * 140_000 + b'"b":1}}',
    b'{"inputs": ["' + b'","' * 1_023 + b'"]}',
    b'{"inputs": [' + b"1," * 500_000 + b"1]}",
)

_SILENT, _SLOW = 10_000, 1_000  # connections: that say nothing, that send half a body
_REOPENED = 200  # connections a second, of those that the server has ended
_SECONDS = 20  # of the attack


@dataclasses.dataclass(frozen=True)
class Options:
    export_dir: str = option("What albert_tf.serving.export wrote.")


def measure(options):
    """Attacks a server, and prints what its clients notice."""
    with run_server(options.export_dir, ()) as (port, process):
        _ask_for(3, port)
        idle = _megabytes(process)
        _show("before", *_ask_for(5, port), idle, idle)
        context = multiprocessing.get_context("spawn")
        over, opened = context.Event(), context.Value("i", 0)
        attacks = [
            context.Process(target=_hold, args=(port, over, opened)),
            context.Process(target=_send_hostile, args=(port, over)),
        ]
        for attack in attacks:
            attack.start()
        while opened.value < _SILENT + _SLOW:
            time.sleep(0.1)
        measured = _ask_for(_SECONDS, port)
        _show("attacked", *measured, _megabytes(process), idle)
        over.set()
        for attack in attacks:
            attack.join()
        print(f"{opened.value} connections were opened.")
        time.sleep(2)
        _show("after", *_ask_for(5, port), _megabytes(process), idle)


def _show(when, seconds, statuses, megabytes, idle):
    p50, p99 = 1000 * np.percentile(seconds, [50, 99])
    print(
        f"{when:<8}: median {p50:6.1f} ms, 99th percentile {p99:6.1f} ms, statuses "
        f"{dict(statuses)}, {megabytes:.0f} MB ({megabytes / idle:.2f} times idle)",
        flush=True,
    )


def _ask_for(duration, port):
    """Asks for one answer after the other; returns their seconds and statuses."""
    seconds, statuses, end = [], collections.Counter(), time.monotonic() + duration
    while time.monotonic() < end:
        start = time.perf_counter()
        statuses[_asked(port, b'{"inputs": ["a fine film"]}')] += 1
        seconds.append(time.perf_counter() - start)
    return seconds, statuses


def _asked(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        try:
            connection.request("POST", _PATH, body)
            return connection.getresponse().status
        except OSError as error:
            return type(error).__name__


def _send_hostile(port, over):
    while not over.is_set():
        for body in _HOSTILE:
            _asked(port, body)


def _hold(port, over, opened):
    """Holds connections until it is over; opens anew those that the server ended."""
    pieces = [b""] * _SILENT + [_HALF] * _SLOW
    held = dict.fromkeys(range(len(pieces)))
    while not over.is_set():
        for place, connection in held.items():
            if over.is_set() or not _is_ended(connection):
                continue
            if connection:
                connection.close()
            held[place] = socket.create_connection(("127.0.0.1", port))
            held[place].setblocking(False)
            opened.value += 1
            if opened.value > len(held):
                time.sleep(1 / _REOPENED)
            with contextlib.suppress(OSError):
                held[place].send(pieces[place])
        time.sleep(0.5)
    for connection in held.values():
        if connection:
            connection.close()


def _is_ended(connection):
    if connection is None:
        return True
    try:
        return connection.recv(1 << 12) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _megabytes(process):
    """Reads the resident memory of a process."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


if __name__ == "__main__":
    command_line.run(Options, measure)
