"""The public API is annotated, and its stub has the package's names."""

import ast
import importlib
import re
import subprocess
import sys

import pytest

import albert_tf


def test_the_stub_has_every_public_name_from_its_home(project):
    stub = ast.parse((project / "albert_tf" / "__init__.pyi").read_text())
    homes = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(homes) == set(albert_tf.__all__)
    for name, home in homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(albert_tf, name)


@pytest.mark.slow
def test_the_python_of_the_readme_has_types(project, tmp_path):
    readme = (project / "README.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    (tmp_path / "lines.py").write_text(code)
    # In a process of its own, whose memory is given back.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "lines.py")],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
