"""Two worker processes of one training run, on this machine."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_SECONDS = 180


@contextlib.contextmanager
def started(folder, script, command_line):
    """Starts a script twice, as worker 0 and worker 1; both are killed at the end.

    Args:
        folder: where `worker0.log` and `worker1.log` go, their standard error.
        script: the Python file.
        command_line: its arguments.
    """
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(2)]
    logs = [folder / "worker0.log", folder / "worker1.log"]
    processes = []
    try:
        for index, log in enumerate(logs):
            task = {"type": "worker", "index": index}
            cluster = {"cluster": {"worker": addresses}, "task": task}
            with log.open("w") as stderr:
                processes.append(
                    subprocess.Popen(
                        [sys.executable, script, *command_line],
                        cwd=_PROJECT,
                        env={**os.environ, "TF_CONFIG": json.dumps(cluster)},
                        stderr=stderr,
                    )
                )
        yield processes, logs
        for process in processes:
            process.wait(timeout=_SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _free_ports(count):
    """Returns ports on which no process listens."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
