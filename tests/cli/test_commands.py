"""The program albert-tf: help of every command, and what that waits for; the shell."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import albert_tf
from albert_tf.cli import commands
from albert_tf.cli import shell

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


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("albert-tf pre", {"pretrain"}, {"classify"}),
        ("albert-tf pretrain --optimizer=ad", {"adamw"}, {"lamb"}),
        (
            "albert-tf pretrain --config=pretraining/",
            {"pretraining/base", "pretraining/wikipedia_small"},
            {"pretraining/tiny_config"},
        ),
        ("albert-tf classify --config=", {"glue/sst-2"}, {"pretraining/base", "demo"}),
        ("albert-tf pretrain --dry_run --do_", {"--do_train"}, {"--dry_run"}),
    ],
)
def test_ends_of_a_line(line, some, none, project, tmp_path):
    pytest.importorskip("argcomplete")
    answers = tmp_path / "answers"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_COMP_WORDBREAKS": " =",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = [sys.executable, "-m", "albert_tf.cli.commands"]
    variables = {**os.environ, **asked}
    subprocess.run(command, cwd=project, env=variables, check=True, capture_output=True)
    found = {answer.strip() for answer in answers.read_text().split("\n")}
    assert some <= found
    assert not none & found


def test_a_command_says_a_word_when_ctrl_c_ends_an_import(tmp_path, project):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    path = os.pathsep.join([str(tmp_path), str(project)])

    def interrupted(*words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=project,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )

    for command in (
        "run_pretraining.py --input_file=a --albert_config_file=b --output_dir=nowhere",
        "-m albert_tf export --model_dir=a --export_dir=b",
        "-m data_pipeline.create_pretraining_data --input_file=a --output_file=b "
        "--spm_model_file=c",
    ):
        done = interrupted(*command.split())
        line = f"To continue, run: {shlex.quote(sys.executable)} {command}"
        assert done.stderr == f"\ninterrupted\n{line}\n"
        assert done.returncode in (-2, 130)
    theirs = interrupted("-c", "import albert_tf.cli.command_line, tensorflow")
    assert "Traceback" in theirs.stderr and "KeyboardInterrupt" in theirs.stderr


def test_the_installed_program_goes_by_its_name(monkeypatch, capsys):
    command = ["/somewhere/bin/albert-tf", "pretrain", "--input_file=a b"]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(sys, "orig_argv", ["/somewhere/bin/python3", *command])
    shell.say_how_to_go_on()
    printed = capsys.readouterr().err
    assert printed == "To continue, run: albert-tf pretrain '--input_file=a b'\n"
