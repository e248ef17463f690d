"""Requests a second of `albert-tf serve`, gathered and one by one.

  python -m benchmarks.serve_http --export_dir=served/sst-2 --data_file=SST-2/dev.tsv

Clients ask for one text at a time, as fast as they are answered. The server that
answers one by one is the same with one worker and --max_rows=1; both serve at the same
time, and take turns. Compare the ratios, and those only on
a machine that does nothing else.
"""

import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time

import numpy as np

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from benchmarks.measuring.turns import read_sentences

_SERVERS = {"gathered": (), "one by one": ("--max_rows=1", "--workers=1")}

_CLIENTS = (1, 8, 64)  # at a time
_REQUESTS, _ROUNDS = 256, 5  # requests of a turn, turns of each server


@dataclasses.dataclass(frozen=True)
class Options:
    export_dir: str = option("What albert_tf.serving.export wrote.")
    data_file: str = option(
        "Table (.tsv) with a column called sentence, such as SST-2's."
    )


def benchmark(options):
    """Measures both servers with each number of clients, and prints the figures."""
    texts = read_sentences(options.data_file)[:_REQUESTS]
    with contextlib.ExitStack() as stack:
        ports = {
            name: stack.enter_context(run_server(options.export_dir, flags))[0]
            for name, flags in _SERVERS.items()
        }
        for port in ports.values():
            _measured(port, texts[:32], 4)  # no turn is a worker's first
        for clients in _CLIENTS:
            turns = [
                {name: _measured(port, texts, clients) for name, port in ports.items()}
                for _ in range(_ROUNDS)
            ]
            _show(clients, turns)


def _show(clients, turns):
    """Prints the rates of some turns, and their ratios."""
    for name in _SERVERS:
        rate = statistics.median(turn[name][0] for turn in turns)
        seconds = np.concatenate([turn[name][1] for turn in turns])
        half, last = 1000 * np.percentile(seconds, [50, 99])
        print(
            f"{name:<11} {clients:3} clients: {rate:7.1f} requests a second, "
            f"median {half:7.1f} ms, 99th percentile {last:7.1f} ms",
            flush=True,
        )
    ratios = [turn["gathered"][0] / turn["one by one"][0] for turn in turns]
    print(
        f"{clients} clients: {statistics.median(ratios):.2f} times as many gathered "
        f"({min(ratios):.2f} to {max(ratios):.2f})",
        flush=True,
    )


@contextlib.contextmanager
def run_server(export_dir, flags):
    """Runs the command; gives its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "albert_tf", "serve", f"--export_dir={export_dir}"]
    command += [f"--port={port}", "--model_name=m", *flags]
    with subprocess.Popen(command) as process:
        try:
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.2)
            yield port, process
        finally:
            process.terminate()


def _measured(port, texts, clients):
    """Measures requests a second, and the seconds of each request."""
    parts = [texts[client::clients] for client in range(clients)]
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        seconds = [*pool.map(lambda part: _ask(port, part), parts)]
    return len(texts) / (time.perf_counter() - start), np.concatenate(seconds)


def _ask(port, texts):
    """Measures the seconds of each request of a client, which keeps its connection."""
    seconds = []
    connection = http.client.HTTPConnection("127.0.0.1", port)
    with contextlib.closing(connection):
        for text in texts:
            start = time.perf_counter()
            body = json.dumps({"inputs": {"text": [text]}})
            connection.request("POST", "/v1/models/m:predict", body)
            response = connection.getresponse()
            content = response.read()
            if response.status != 200:
                raise RuntimeError(content.decode())
            seconds.append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    command_line.run(Options, benchmark)
