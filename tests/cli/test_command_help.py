"""Help of every command, and imports that it does not wait for."""

import json
import re
import subprocess
import sys

import pytest

# Runs --help of every command of the checkout as a user would, in one process.
_RUN_ALL = r"""
import contextlib, dataclasses, importlib, io, json, pathlib, re, runpy, sys, time
from albert_tf.cli import command_line
main = r"(command_line|run\w*|main)$"
entry = re.compile(rf"^from (albert_tf|tools.verify)[.\w]* import {main}", re.M)
help_text, found = command_line.help_text, {}
def watched(about, options_class, ignored):
    fields = dataclasses.fields(options_class)
    found[name] = {
        "about": about,
        "flags": {field.name: field.metadata["help"] for field in fields},
    }
    return help_text(about, options_class, ignored)
command_line.help_text = watched
roots = [pathlib.Path(r) for r in ("albert_tf", "benchmarks", "data_pipeline", "tools")]
paths = [path for root in roots for path in root.rglob("*.py")]
for path in sorted([*paths, *pathlib.Path().glob("run_*.py")]):
    text = path.read_text(encoding="utf-8")
    flags = r"option\(|(export|flags|verify) import main|import DataOptions$"
    if not re.search(flags, text, re.M):
        continue
    of_program = str(path.parent) in ("albert_tf/commands", "albert_tf/serving")
    is_module = "__main__" in text + path.name
    if not (is_module or of_program) or not entry.search(text):
        continue
    name = str(path)
    sys.argv = [name, "--help"]
    printed, started = io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        module = ".".join(path.with_suffix("").parts).removesuffix(".__main__")
        if of_program:
            importlib.import_module(module).main(sys.argv)
        else:
            runpy.run_module(module, None, "__main__", alter_sys=True)
    found[name]["printed"] = printed.getvalue()
    found[name]["seconds"] = time.process_time() - started
slow = ("tensorflow", "keras", "torch", "jax", "apache_beam", "matplotlib")
print(json.dumps([found, [package for package in slow if package in sys.modules]]))
"""


@pytest.fixture(scope="module")
def commands(project):
    """Returns every command's help, and the slow packages that were imported."""
    command = [sys.executable, "-W", "ignore", "-c", _RUN_ALL]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_no_command_waits_for_tensorflow(commands):
    found, slow = commands
    assert len(found) > 30 and "run_demo.py" in found
    assert slow == []
    assert max(command["seconds"] for command in found.values()) < 1


def test_commands_have_an_example_a_page_and_flags_of_a_sentence(commands, project):
    menu = (project / "mkdocs.yml").read_text()
    for name, command in commands[0].items():
        assert re.search(r"^ +(python|albert-tf) ", command["about"], re.M), name
        pages = re.findall(r"docs/\w+\.md|README\.md", command["about"])
        on_site = [page.replace("docs/", ": ") + "\n" for page in pages]
        assert all(page in menu for page in on_site), name
        assert pages or not name.startswith(("albert_tf", "data_pipeline")), name
        flags = re.findall(r"^  --(?:\[no\])?(\w+)", command["printed"], re.M)
        assert sorted(flags) == sorted([*command["flags"], "config"]), name
        headings = re.findall(r"^(\S.*):\n  --", command["printed"], re.M)
        assert headings and max(map(len, headings)) < 80, (name, headings)
        for flag, text in command["flags"].items():
            assert re.fullmatch(r"[A-Z]\S* \S+ .*\.", text), (name, flag)
            assert not re.search(r"(?i)likewise|^see |the same as", text), (name, flag)
