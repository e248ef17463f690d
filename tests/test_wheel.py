"""The installed package works outside the checkout."""

import os
import re
import subprocess
import zipfile

import pytest

from albert_tf.cli.commands import COMMANDS

_IMPORT_ALL = """
import importlib, pkgutil, sys
import albert_tf, data_pipeline
assert albert_tf.__file__.startswith(sys.prefix), albert_tf.__file__
for package in (albert_tf, data_pipeline):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
from albert_tf.cli import commands
for name in commands.COMMANDS:
    try:
        commands.main(["albert-tf", name, "--help"])
    except SystemExit as end:
        assert not end.code
"""


@pytest.fixture
def run(environment, project, tmp_path):
    """Runs one of the environment's programs far from the checkout."""
    variables = {**os.environ, "PYTHONPATH": str(project / "tests" / "absent")}

    def call(program, *arguments):
        command = [environment / program, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.slow
def test_every_module_is_there_and_every_command_explains_itself(run):
    assert run("python", "-c", _IMPORT_ALL).count("--config=FILE") == len(COMMANDS)
    printed = run("albert-tf", "describe", "--albert_config_file=albert/base_v2")
    assert "11,683,584" in printed  # recipes travel along


@pytest.mark.slow
def test_the_page_of_an_index_links_to_no_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (name,) = (n for n in names if n.endswith("/METADATA"))
        page = archive.read(name).decode()
    assert "docs/finetuning.md" in page
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", page)
    assert "albert_tf/families/remote_code/modeling_albert_tf.py" in names
    top = {name.split("/")[0] for name in names} - {name.split("/")[0]}
    assert top == {"albert_tf", "data_pipeline"}
