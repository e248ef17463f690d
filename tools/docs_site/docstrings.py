"""Docstrings in Markdown, as the site shows them."""

import re

_EXAMPLE = re.compile(r"^Example:\n((?: {4}.*\n?)+)", re.MULTILINE)


def as_markdown(docstring):
    """Puts examples between fences, and lists the entries of returned dicts."""
    paragraphs = _EXAMPLE.sub(_fenced, docstring).split("\n\n")
    return "\n\n".join(map(_with_lists, paragraphs))


def _fenced(match):
    code = match[1].rstrip("\n")
    return f"Example:\n    ```py\n{code}\n    ```\n"


def _with_lists(paragraph):
    if re.match(r" |\w+:\n", paragraph):  # a section of Google's style, or its end
        return paragraph
    paragraph = re.sub(r"^Call: ", "**Call:** ", paragraph)
    paragraph = re.sub(r"\n {4}(\w+): ", r"\n\n* `\1`: ", paragraph)
    return re.sub(r"(\n(?:\*| {4}).*\n)(?=[^\s*])", r"\1\n", paragraph)
