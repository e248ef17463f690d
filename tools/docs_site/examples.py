"""An extension of griffe that shows the examples of docstrings as code."""

import re

import griffe

_EXAMPLE = re.compile(r"^Example:\n((?: {4}.*\n?)+)", re.MULTILINE)


class CodeExamples(griffe.Extension):
    """Puts the lines of each section "Example:" between fences."""

    def on_instance(self, *, obj, **_):
        """Changes the docstring of an object that griffe has read."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(match):
    code = match[1].rstrip("\n")
    return f"Example:\n    ```py\n{code}\n    ```\n"
