"""Answers HTTP requests with a model, as TensorFlow Serving's REST interface does.

  python -m albert_tf.serve --export_dir=/models/sst-2 --port=8501

  curl -d '{"inputs": {"text": ["a fine film"]}}' \\
      http://localhost:8501/v1/models/sst-2:predict

The server answers concurrent requests in batches. It is for demonstrations and small
services, and needs pip install 'albert-tf[serve]'. docs/serving.md says more.
"""

import dataclasses
import pathlib

from absl import logging

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.errors import UserError
from albert_tf.models.flags import AppliedExitFlags

_DRAINING = 30  # seconds in which requests are answered after SIGTERM


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """Gathering of requests, and their largest size."""

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
        "Inputs that may wait; the server refuses more with the status 503.",
        1024,
        minimum=1,
    )
    max_request_bytes: int = option(
        "Size of a request; the server refuses larger ones with the status 413.",
        1 << 20,
        minimum=1,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServeOptions(Limits, AppliedExitFlags, ReadingFlags):
    """The flags of `python -m albert_tf.serve`."""

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


@obeys_reading_flags
def serve(options):
    """Answers requests until a signal ends it; those that run get their answers.

    Raises:
        UserError: not one model, or the packages of the server are not installed.
    """
    if bool(options.model_dir) == bool(options.export_dir):
        raise UserError("Give either --model_dir or --export_dir.")
    # Imported here, so that --help does not wait for TensorFlow.
    try:
        import uvicorn

        from albert_tf.serving.server import Server
    except ImportError as error:
        raise UserError(
            f"Serving needs {error.name}: pip install 'albert-tf[serve]'."
        ) from error
    from albert_tf.serving.predictor import Predictor

    predictor = Predictor(
        options.model_dir or options.export_dir,
        task=options.task,
        exit_rule=options.asked_rule,
    )
    name, version = _name_and_version(options)
    server = Server(predictor, name, version, group_of(Limits, options))
    logging.info("Serving http://%s:%d/v1/models/%s", options.host, options.port, name)
    uvicorn.run(
        server.application(),
        host=options.host,
        port=options.port,
        log_level="warning",
        timeout_graceful_shutdown=_DRAINING,
    )


def _name_and_version(options):
    """Returns the model's name in paths, and its version: 1 where there are none."""
    from albert_tf.serving.versions import numbered_versions

    path = pathlib.Path(options.model_dir or options.export_dir)
    version = max(numbered_versions(path), default=1) if options.export_dir else 1
    if options.export_dir and path.name.isdecimal():
        path, version = path.parent, int(path.name)
    return options.model_name or path.resolve().name, version


def main(argv=None):
    """Runs the command line."""
    run(ServeOptions, serve, argv=argv)


if __name__ == "__main__":
    main()
