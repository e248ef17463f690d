"""The wheel of the checkout, and an environment with it, made once a session."""

import shutil
import subprocess
import sys
import sysconfig

import pytest


@pytest.fixture(scope="session")
def wheel(project, tmp_path_factory):
    """The wheel of the checkout's source archive."""
    folder = tmp_path_factory.mktemp("wheel")
    # Building leaves files behind.
    source = folder / "source"
    for name in ("albert_tf", "data_pipeline", "configs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(project / name, source / name, ignore=ignored)
    others = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
    for name in (*others, "NOTICE"):
        shutil.copy(project / name, source)
    command = [sys.executable, "-m", "build", "--outdir", str(folder)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    """A fresh environment with the wheel, and with the packages that it needs."""
    place = tmp_path_factory.mktemp("environment")
    python = place / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (own,) = place.glob("lib/python*/site-packages")
    (own / "others.pth").write_text("\n".join(packages))
    return place / "bin"
