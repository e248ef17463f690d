"""Commands as processes: started, waited for, killed, and judged by their output."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGEST_SECONDS = 600
"""No command of the attacks may take longer; one that does counts as hanging."""
_POLL_SECONDS = 0.002
_GONE_SECONDS = 120  # workers that still import see it only then
_QUIET = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}


@dataclasses.dataclass(frozen=True)
class Ended:
    """End of a process."""

    code: int
    """Its exit status; negative: the signal that killed it."""
    said: str
    """Its standard error."""
    seconds: float
    """Seconds that it ran."""

    @property
    def sentence(self):
        """Error that the process gave; None where it gave none, or a traceback."""
        lines = self.said.strip().splitlines()
        last = lines[-1] if lines else ""
        if self.code != 1 or "Traceback" in self.said or not last.startswith("error: "):
            return None
        return last.removeprefix("error: ")


class Process(subprocess.Popen):
    """A command of albert-tf in a process group, which `wrapped` may start."""

    def __init__(self, arguments, log, environment=None, wrapped=()):
        self._log = pathlib.Path(log)
        self._began = time.monotonic()
        with self._log.open("w") as output:
            super().__init__(
                [*wrapped, sys.executable, "-m", "albert_tf.cli.commands", *arguments],
                cwd=PROJECT,
                env={**os.environ, **_QUIET, **(environment or {})},
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )

    def __exit__(self, *_):
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.wait()

    def seconds(self):
        """Returns the seconds that it has been running."""
        return time.monotonic() - self._began

    def finish(self, seconds=LONGEST_SECONDS):
        """Waits for its end and returns an `Ended`; one that hangs is killed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(seconds)
        taken = self.seconds()
        self.__exit__()
        said = self._log.read_text(errors="replace")
        return Ended(self.returncode, said, taken)

    def children_are_gone(self):
        """Returns whether all that it started ends soon after it."""
        deadline = time.monotonic() + _GONE_SECONDS
        while time.monotonic() < deadline:
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(_POLL_SECONDS)
        return False


def wait_for_change(folder, processes):
    """Waits until something is written into a folder, or one of the processes ends."""
    before, deadline = _state(folder), time.monotonic() + LONGEST_SECONDS
    while _state(folder) == before and time.monotonic() < deadline:
        if any(process.poll() is not None for process in processes):
            break
        time.sleep(_POLL_SECONDS)


def _state(folder):
    state = set()
    for place, folders, names in os.walk(folder):  # which skips what vanishes meanwhile
        for path in (os.path.join(place, name) for name in (*folders, *names)):
            with contextlib.suppress(OSError):
                # Another file of the same name counts, more bytes in it do not.
                state.add((path, os.stat(path).st_ino))
    return state


def worker_environments(count):
    """Returns TF_CONFIG for each of `count` worker processes on this machine."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    configs = [
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        for index in range(count)
    ]
    return [{"TF_CONFIG": json.dumps(config)} for config in configs]
