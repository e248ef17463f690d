"""The metadata is in pyproject.toml; what is here it cannot express."""

import pathlib
import shutil

import setuptools
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).parent


class BuildWithRecipes(build_py):
    """Puts configs/ into the wheel as albert_tf/configs."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = pathlib.Path(self.build_lib, "albert_tf", "configs")
            shutil.copytree(ROOT / "configs", target, dirs_exist_ok=True)


setuptools.setup(cmdclass={"build_py": BuildWithRecipes})
