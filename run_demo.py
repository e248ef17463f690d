"""Takes the whole path on real text, from nothing.

  python run_demo.py --output_dir=demo_output

This runs the commands that a user would run, one after the other, and prints one table
of the results; `make demo` does the same. Re-running keeps the finished steps and
resumes an interrupted one; another recipe needs another --output_dir.
"""

import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json
from albert_tf.io.folder_lock import folder_lock
from tools.demo.steps import demo_steps


@dataclasses.dataclass(frozen=True)
class DemoOptions:
    """The flags of run_demo.py."""

    output_dir: str = option(
        "Folder for everything that the demo makes.", "demo_output"
    )
    recipe: str = option(
        "JSON file that holds the flags of the steps.", "configs/demo.json"
    )


def run_demo(options):
    """Runs the steps that are not finished yet, then prints the table."""
    output_dir = pathlib.Path(options.output_dir)
    with folder_lock(output_dir):
        _run_steps(output_dir, options)


def _run_steps(output_dir, options):
    steps = demo_steps(output_dir, options.recipe)
    _check_steps(output_dir, options.recipe)
    for number, (name, command) in enumerate(steps, start=1):
        _run_step(output_dir, f"[{number}/{len(steps)}] {name}", name, command)
    table = output_dir / "table.md"
    if not table.exists():
        # Imported here, so that --help does not wait for TensorFlow.
        from tools.demo.table import demo_table
        from tools.demo.table import draw_accuracy

        draw_accuracy(output_dir)
        write_atomically(table, demo_table(output_dir, [name for name, _ in steps]))
    print(f"\n{table.read_text(encoding='utf-8')}")


def _check_steps(output_dir, recipe):
    """Keeps the steps that the recipe makes, or compares them with an earlier call's.

    Raises:
        UserError: the kept steps were made with another recipe.
    """
    path = output_dir / "steps" / "commands.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the folder, which may be named in another way or have moved.
    commands = dict(demo_steps(pathlib.Path(), recipe))
    if not path.exists():
        write_json(path, commands)
    elif read_json_object(path) != commands:
        raise UserError(
            f"{output_dir} holds what another recipe than {recipe} made; pass another "
            "--output_dir, or delete that folder."
        )


def _run_step(output_dir, title, name, command):
    """Runs `command` unless an earlier run of this step has finished."""
    state = output_dir / "steps" / f"{name}.json"
    done = json.loads(state.read_text()) if state.exists() else {"seconds": 0.0}
    if done.get("finished"):
        print(f"{title}: already done")
        return
    print(f"\n{title}\n  {shlex.join(command)}", flush=True)
    started = time.monotonic()
    # The step gets Ctrl-C as well, saves its state and ends; this waits for it.
    previous = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        status = subprocess.call([sys.executable, *command], env=_environment())
    finally:
        signal.signal(signal.SIGINT, previous)
        done["seconds"] += time.monotonic() - started
        write_json(state, done)
    if status:
        raise UserError(
            f"The step {name!r} ended with status {status}. Finished steps are kept; "
            "run this again to continue."
        )
    write_json(state, {**done, "finished": True})


def _environment():
    # Without it, progress is held back where standard output is a file.
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


if __name__ == "__main__":
    command_line.run(DemoOptions, run_demo)
