"""A run that is stopped takes its workers along and can go on."""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys

import pytest

from data_pipeline.create_pretraining_data import create_pretraining_data
from tests.child_processes import SECONDS
from tests.child_processes import children_of
from tests.child_processes import is_alive
from tests.child_processes import needs_proc
from tests.child_processes import wait_until

_MUCH = {"num_shards": 4, "dupe_factor": 20}
_MODULE = "data_pipeline.create_pretraining_data"
_HELD = str(pathlib.Path(__file__).with_name("held_workers.py"))

pytestmark = needs_proc


@pytest.fixture
def start(make_options, out, project):
    """Starts the command with two workers, which stay in their shards if `held`.

    It and its workers are killed at the end if need be.
    """
    options = make_options()
    flags = ("input_file", "output_file", "spm_model_file", "max_seq_length")
    command = [f"--{name}={getattr(options, name)}" for name in flags]
    path = os.pathsep.join([str(project), os.environ["PYTHONPATH"]])
    processes = []

    def run(held):
        program = (_HELD,) if held else ("-m", _MODULE)
        processes.append(
            subprocess.Popen(
                [
                    *(sys.executable, *program, *command),
                    *(f"--{k}={v}" for k, v in _MUCH.items()),
                    "--workers=2",
                ],
                cwd=project,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield run
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


def _kill(process):
    process.kill()


def _terminate(process):
    process.terminate()


def _press_ctrl_c(process):
    """Sends the signal as a terminal does, to the workers too."""
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "files", "status"),
    [
        (_kill, 2, -signal.SIGKILL),
        # While the workers start: they, and the process that cleans up after them.
        (_terminate, 0, 143),
        (_press_ctrl_c, 2, 130),
    ],
)
def test_workers_end_with_their_run(
    start, make_options, out, tmp_path, digests, stop, files, status
):
    process = start(held=files > 0)
    wait_until(lambda: len(children_of(process.pid)) >= 3)
    wait_until(lambda: len(list(out.glob("x-*.incomplete"))) >= files)
    children = children_of(process.pid)
    assert len([pid for pid in children if is_alive(pid)]) >= 2
    stop(process)
    _, printed = process.communicate(timeout=SECONDS)
    wait_until(lambda: not any(map(is_alive, children)))
    assert process.returncode == status
    assert "Traceback" not in printed
    assert not (out / "dataset_info.json").exists()
    if stop is not _kill:
        assert f"stopped: finished files are kept in {out}\n" in printed
        assert f"\nTo continue, run: {shlex.join(process.args)}\n" in printed
        assert not list(out.rglob("*.incomplete"))

    whole = str(tmp_path / "whole" / "x.tfrecord")
    for changes in ({}, {"output_file": whole}):
        create_pretraining_data(make_options(**_MUCH, **changes))
    assert digests(out) == digests(tmp_path / "whole")
