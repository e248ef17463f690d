"""Answers HTTP requests with a model, as TensorFlow Serving's REST API does.

  albert-tf serve --export_dir=/models/sst-2 --port=8501

  curl -d '{"inputs": {"text": ["a fine film"]}}' \\
      http://localhost:8501/v1/models/sst-2:predict

The server answers concurrent requests in batches. It is for demonstrations and small
services, and needs pip install 'albert-tf[serve]'. docs/serving.md says more.
"""

import dataclasses
import gc
import pathlib
import resource
import signal
import socket

from absl import logging

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.models.flags import AppliedExitFlags

_BACKLOG = 128  # connections accepted at a time, between other work
_QUEUE = 1024  # connections that the system queues until they are accepted
_OTHER_FILES = 256  # open files of a server besides connections


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServeOptions(AppliedExitFlags, ReadingFlags):
    """The flags of `albert-tf serve`."""

    model_dir: str | None = option(
        "Model to serve: a model directory, a Hugging Face directory, or "
        "hf://owner/name.",
        None,
    )
    export_dir: str | None = option(
        "Export of albert_tf.serving.export, in any format; of several versions, the "
        "highest is served.",
        None,
    )
    task: str = option(
        "Task of a --model_dir, such as encoder or masked_lm; auto takes what the "
        "model was fine-tuned for, or else the encoder.",
        "auto",
    )
    model_name: str | None = option(
        "Name of the model in paths; by default the last part of the directory's name.",
        None,
    )
    host: str = option("Address to listen at; 0.0.0.0 for every network.", "127.0.0.1")
    port: int = option("Port to listen at.", 8501, minimum=0, maximum=65535)
    max_rows: int = option(
        "Inputs that are answered at a time, of one request or of several. Answers of "
        "an int8 export move a little with the others; 1 prevents that.",
        32,
        minimum=1,
    )
    max_delay_ms: float = option(
        "Milliseconds that a request waits for others while a worker is idle.",
        0.0,
        minimum=0,
    )
    workers: int | None = option(
        "Calls of the model at a time; by default one for each core, or one where "
        "TensorFlow sees a GPU.",
        None,
        minimum=1,
    )
    max_waiting_rows: int = option(
        "Inputs that may wait; the server refuses more with the status 503, and a "
        "request that has more by itself with 413.",
        1024,
        minimum=1,
    )
    max_request_bytes: int = option(
        "Size of a request; the server refuses larger ones with the status 413.",
        1 << 20,
        minimum=1,
    )
    max_held_bytes: int = option(
        "Bytes of all requests at a time, until they are answered; at least two of "
        "--max_request_bytes. Where there are more, the server refuses those that have "
        "not come whole with the status 503, the oldest first.",
        1 << 26,
        minimum=1 << 16,
    )
    max_read_seconds: float = option(
        "Seconds in which a request must have come whole, and between two requests of "
        "a connection; the server refuses slower ones with the status 408.",
        20.0,
        minimum=0.1,
    )
    max_connections: int = option(
        "Connections at a time. One more ends the oldest whose request has not come "
        "whole; if there is none, the server refuses it with the status 503.",
        1024,
        minimum=1,
    )


@obeys_reading_flags
def serve(options):
    """Serves until a signal arrives, then finishes the running requests.

    Raises:
        UserError: the flags do not name exactly one model, the address is unavailable,
            limits contradict each other, or the server's packages are not installed.
    """
    if bool(options.model_dir) == bool(options.export_dir):
        raise UserError("Give either --model_dir or --export_dir.")
    if options.max_held_bytes < 2 * options.max_request_bytes:
        raise UserError(
            f"max_held_bytes={options.max_held_bytes}: expected at least twice "
            f"max_request_bytes={options.max_request_bytes}."
        )
    with _bound(options.host, options.port) as listening:
        _answer(options, listening)


def _answer(options, listening):
    # Imported here, so that neither --help nor a taken port waits for TensorFlow.
    try:
        import uvicorn

        from albert_tf.serving.server import Server
    except ImportError as error:
        raise UserError(
            f"Serving needs {error.name}: pip install 'albert-tf[serve]'."
        ) from error
    from albert_tf.serving.predictor import Predictor

    path, name, version = _served(options)
    predictor = Predictor(path, task=options.task, exit_rule=options.asked_rule)
    options = _within_open_files(options)
    config = Server(predictor, name, version, options).config(_BACKLOG)
    address = _address(options.host, listening.getsockname()[1])
    logging.info("Serving %s/v1/models/%s", address, name)
    for ended_by in (signal.SIGINT, signal.SIGTERM):
        # uvicorn finishes the running requests, then raises the signal again.
        signal.signal(ended_by, lambda *_: None)
    gc.freeze()  # Garbage collections caused by hostile bodies skip all this.
    uvicorn.Server(config).run(sockets=[listening])


def _served(options):
    """Returns the path to open, and the model's name and version in URLs.

    The version is fixed before loading, since a newer one may appear meanwhile.
    """
    from albert_tf.serving.predictor import exported_version

    path, number = options.model_dir or options.export_dir, 1
    named = pathlib.Path(path)
    if options.export_dir and (version := exported_version(named)):
        path = named = version
        if version.name.isdecimal():
            number, named = int(version.name), version.parent
    return path, options.model_name or named.resolve().name, number


class _Listening(socket.socket):
    """A socket with a longer backlog than asyncio requests."""

    def listen(self, backlog):
        super().listen(max(backlog, _QUEUE))


def _bound(host, port):
    """Binds the address early, before the slow loading; does not listen yet."""
    if not host:
        raise UserError(
            "host= is empty: give an address, such as 127.0.0.1, or 0.0.0.0 for every "
            "network."
        )
    listening = _Listening(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UserError(
            f"host={host} port={port}: the server cannot listen there "
            f"({error.strerror}); give another address or port."
        ) from error
    return listening


def _address(host, port):
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _within_open_files(options):
    """Raises the limit of open files, or lowers the connection limit to match it."""
    others = 4 * _BACKLOG + _OTHER_FILES  # some are accepted before others are closed
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= options.max_connections + others:
        return options
    soft = options.max_connections + others
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = max(min(options.max_connections, soft - others), 1)
    if most < options.max_connections:
        logging.warning("ulimit -n is %d: --max_connections becomes %d.", soft, most)
    return dataclasses.replace(options, max_connections=most)


def main(argv=None):
    """Runs the command line."""
    run(ServeOptions, serve, argv=argv)
