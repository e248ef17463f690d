"""Build steps that pyproject.toml, which has the metadata, cannot express."""

import pathlib
import re
import shutil

import setuptools
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).parent
_LINK_TO_A_FILE = re.compile(r"\[([^]]+)\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)")


class BuildWithRecipes(build_py):
    """Puts configs/ into the wheel as albert_tf/configs."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = pathlib.Path(self.build_lib, "albert_tf", "configs")
            shutil.copytree(ROOT / "configs", target, dirs_exist_ok=True)


def readme():
    """Returns README.md for a package index, where links to files of ours lead nowhere.

    The files are in the source archive, so their names stay.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return _LINK_TO_A_FILE.sub(
        lambda link: link[1] if link[2] in ("", link[1]) else f"{link[1]} ({link[2]})",
        text,
    )


setuptools.setup(
    cmdclass={"build_py": BuildWithRecipes},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
