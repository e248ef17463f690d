"""Commands of this project as processes of their own."""

import os
import pathlib
import subprocess
import sys

from albert_tf.errors import UserError

_ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_module(name, flags):
    """Runs a command until it ends.

    Args:
        name: of its module, such as "run_pretraining" or "albert_tf.convert".
        flags: dict.

    Raises:
        UserError: it fails.
    """
    command = [sys.executable, "-m", name]
    command += [f"--{flag}={value}" for flag, value in flags.items()]
    paths = filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    if subprocess.run(command, env=environment).returncode:
        raise UserError(f"{' '.join(command)} failed.")
