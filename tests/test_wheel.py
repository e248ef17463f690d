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


@pytest.mark.slow
def test_every_module_is_there_and_every_command_explains_itself(
    environment, project, tmp_path
):
    def run(program, *arguments):
        """Runs a program of the environment far from the checkout."""
        done = subprocess.run(
            [environment / program, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(project / "tests" / "absent")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

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
