"""A run that is stopped takes its workers along and can go on."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from data_pipeline.create_pretraining_data import create_pretraining_data
from tests.child_processes import SECONDS
from tests.child_processes import children_of
from tests.child_processes import is_alive
from tests.child_processes import needs_proc
from tests.child_processes import wait_until

_SHARDS = {"num_shards": 4}
_HELD = str(pathlib.Path(__file__).with_name("held_workers.py"))

pytestmark = needs_proc


@pytest.fixture
def start(make_options, out, project):
    """Starts the command with two workers, which stay in their shards if `held`.

    It and its workers are killed at the end if need be.
    """
    options = make_options()
    flags = ("input_file", "output_file", "spm_model_file", "max_seq_length")
    of_options = [f"--{name}={getattr(options, name)}" for name in flags]
    of_options += ["--dupe_factor=2", "--num_shards=4", "--workers=2"]
    # Not the level of the suite's, for which TensorFlow says nothing anyway.
    kept = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    path = os.pathsep.join([str(project), os.environ["PYTHONPATH"]])
    processes = []

    def run(held=False):
        program = (_HELD,) if held else ("-m", "data_pipeline.create_pretraining_data")
        processes.append(
            subprocess.Popen(
                [sys.executable, *program, *of_options],
                cwd=project,
                env={**kept, "PYTHONPATH": path},
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


@pytest.mark.slow
def test_workers_say_nothing_and_do_not_change_a_byte(start, made, out, digests):
    process, seen = start(), set()
    while process.poll() is None:
        seen |= set(children_of(process.pid))
        time.sleep(0.1)
    printed = process.stderr.read()
    assert process.returncode == 0 and len(seen) >= 3  # and one that cleans up
    own = re.compile(r"\d\d:\d\d:\d\d ")
    foreign = [line for line in printed.splitlines() if not own.match(line)]
    assert printed and not foreign
    assert digests(out) == digests(made(**_SHARDS))


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
        pytest.param(_kill, 2, -signal.SIGKILL, marks=pytest.mark.nightly),
        # While the workers start: they, and the process that cleans up after them.
        (_terminate, 0, 143),
        pytest.param(_press_ctrl_c, 2, 130, marks=pytest.mark.nightly),
    ],
)
def test_workers_end_with_their_run(
    start, make_options, out, made, digests, stop, files, status
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

    create_pretraining_data(make_options(**_SHARDS))
    assert digests(out) == digests(made(**_SHARDS))
