"""What is installed works outside the checkout."""

import os
import shutil
import subprocess
import sys
import textwrap
import zipfile

import pytest

pytest.importorskip("build")

_IMPORT_ALL = """
import importlib, pkgutil
import albert_tf, data_pipeline
assert albert_tf.__file__.startswith({place!r}), albert_tf.__file__
for package in (albert_tf, data_pipeline):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""
_RUN = """
from albert_tf.commands import main
main(["albert-tf", "describe", "--albert_config_file=albert/base_v2"])
"""


@pytest.fixture(scope="module")
def wheel(project, tmp_path_factory):
    """The wheel of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    # Building leaves files behind.
    source = folder / "source"
    names = ("albert_tf", "data_pipeline", "configs")
    for name in names:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(project / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(project / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def run(wheel, tmp_path_factory):
    """Runs Python with what the wheel holds, far from the checkout."""
    place = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)

    def python(code):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code).format(place=str(place))],
            cwd=tmp_path_factory.mktemp("elsewhere"),
            env={**os.environ, "PYTHONPATH": str(place)},
            capture_output=True,
            text=True,
        )

    return python


def test_every_module_is_there(run):
    done = run(_IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def test_recipes_travel_along(run):
    done = run(_RUN)
    assert done.returncode == 0, done.stderr
    assert "11,683,584" in done.stdout


def test_what_goes_to_the_top_level(wheel):
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {
        "albert_tf",
        "data_pipeline",
    }
