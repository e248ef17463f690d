"""A server in a thread, and a model that costs nothing."""

import contextlib
import dataclasses
import http.client
import json
import socket
import threading
import time
import types

import numpy as np
import tensorflow as tf
import uvicorn

from albert_tf.commands import serve
from albert_tf.errors import UserError
from albert_tf.serving.inputs import Inputs
from albert_tf.serving.server import Server
from tests.child_processes import wait_until


class Lengths:
    """Stands for a `Predictor`: how long texts are, and their first letters."""

    inputs, labels = ("text",), ()
    # By the names of its outputs, their shapes and types.
    answers = (("length", [None], tf.int32), ("first", [None], tf.string))

    def __init__(self, seconds=0.0):
        self.seconds, self.calls = seconds, []
        asked = dict.fromkeys(self.inputs, tf.TensorSpec([None], tf.string))
        specs = {name: tf.TensorSpec(*own) for name, *own in self.answers}
        self.signature = types.SimpleNamespace(
            structured_input_signature=((), asked), structured_outputs=specs
        )

    def columns(self, /, *texts, **named):
        ranks = dict.fromkeys(self.inputs, 1)
        return Inputs(ranks, self.inputs).columns(texts, named)

    def outputs(self, columns, batch_size):
        texts = [text.decode() for text in columns["text"]]
        self.calls.append(len(texts))
        time.sleep(self.seconds)
        if "bad" in texts:
            raise UserError("bad is refused.")
        if "broken" in texts:
            raise ValueError("broken")
        first = np.array([text[:1] for text in texts], object)
        return {"length": np.array([*map(len, texts)]), "first": first}


@dataclasses.dataclass(frozen=True)
class Running:
    port: int
    uvicorn: uvicorn.Server
    connections: object  # the `Connections` of the server

    def counted(self, status):
        """Counts the requests that got a status, by /metrics."""
        metrics = ask(self.port, "/metrics")[1]
        name = f'albert_requests_total{{status="{status}"}} '
        found = [line for line in metrics.splitlines() if line.startswith(name)]
        return float(found[0].removeprefix(name)) if found else 0


@contextlib.contextmanager
def running(predictor, **limits):
    server = Server(predictor, "m", 3, serve.ServeOptions(**limits))
    listening = socket.socket()
    # Connections inherit it; without it the kernel may take all answers by itself.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    listening.bind(("127.0.0.1", 0))
    in_thread = uvicorn.Server(server.config(backlog=128))
    thread = threading.Thread(target=in_thread.run, args=([listening],))
    thread.start()
    wait_until(lambda: in_thread.started)
    try:
        port = listening.getsockname()[1]
        yield Running(port, in_thread, server._connections)
    finally:
        in_thread.should_exit = True
        thread.join()


@contextlib.contextmanager
def serving(predictor, **limits):
    """Runs a server in a thread; gives its port."""
    with running(predictor, **limits) as server:
        yield server.port


def ask(port, path=":predict", body=None, raw=None, headers=(), base="/v1/models/m"):
    """The status of an answer, its content, and its headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        content = raw if body is None else json.dumps(body)
        method = "GET" if content is None else "POST"
        where = path if path == "/metrics" else f"{base}{path}"
        connection.request(method, where, content, dict(headers))
        response = connection.getresponse()
        text = response.read().decode()
        is_json = response.headers["content-type"] == "application/json"
        content = json.loads(text) if is_json else text
        return response.status, content, response.headers
