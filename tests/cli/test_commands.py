"""The program albert-tf, the help of every command, and what that waits for."""

import json
import re
import subprocess
import sys

import pytest

import albert_tf
from albert_tf.cli import commands

# Runs --help of every command of the checkout as a user would, in one process.
_RUN_ALL = r"""
import contextlib, importlib, io, json, pathlib, re, runpy, sys, time
main = r"(command_line|run\w*|main)$"
entry = re.compile(rf"^from (albert_tf|tools.verify)[.\w]* import {main}", re.M)
flags = r"option\(|(export|flags|verify) import main|import DataOptions$"
roots = [pathlib.Path(r) for r in ("albert_tf", "benchmarks", "data_pipeline", "tools")]
paths = [path for root in roots for path in root.rglob("*.py")]
found = {}
for path in sorted([*paths, *pathlib.Path().glob("run_*.py")]):
    text = path.read_text(encoding="utf-8")
    of_program = str(path.parent) in ("albert_tf/commands", "albert_tf/serving")
    is_module = "__main__" in text + path.name
    if not re.search(flags, text, re.M) or not entry.search(text):
        continue
    if is_module or of_program:
        sys.argv = [str(path), "--help"]
        printed, started = io.StringIO(), time.process_time()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            module = ".".join(path.with_suffix("").parts).removesuffix(".__main__")
            if of_program:
                importlib.import_module(module).main(sys.argv)
            else:
                runpy.run_module(module, None, "__main__", alter_sys=True)
        assert "--config" in printed.getvalue(), path
        found[str(path)] = time.process_time() - started
slow = ("tensorflow", "keras", "torch", "jax", "apache_beam", "matplotlib")
print(json.dumps([found, [package for package in slow if package in sys.modules]]))
"""


def test_no_command_waits_for_tensorflow(project):
    command = [sys.executable, "-W", "ignore", "-c", _RUN_ALL]
    done = subprocess.run(command, cwd=project, capture_output=True, check=True)
    seconds, slow = json.loads(done.stdout)
    assert len(seconds) > 30 and "run_demo.py" in seconds
    assert slow == []
    assert max(seconds.values()) < 1


def test_the_program_tells_its_version_its_commands_and_the_path(capsys):
    def printed(*words):
        commands.main(["albert-tf", *words])
        return capsys.readouterr().out

    assert printed("--version") == f"albert-tf {albert_tf.__version__}\n"
    listed = printed("--help")
    for name, (_, about) in commands.COMMANDS.items():
        assert f"  {name} " in listed and about in listed
    path = printed()
    assert len(path.splitlines()) < 24  # one screen
    for line in re.findall(r"^  albert-tf (.*(?:\\\n.*)*)", path, re.M):
        name, *flags = re.findall(r"^\w+|--\w+", line)
        with pytest.raises(SystemExit):
            commands.main(["albert-tf", name, "--help"])
        explained = capsys.readouterr().out
        assert [flag for flag in flags if f"\n  {flag}" not in explained] == []
