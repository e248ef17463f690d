"""Writes docs/api.md, the page of all public names, from their docstrings.

  python -m tools.api_page

A test fails where the page is older than the docstrings.
"""

import dataclasses
import importlib
import inspect
import json
import pathlib
import re
import textwrap

import albert_tf
from albert_tf.cli.command_line import option
from albert_tf.cli.command_line import run
from albert_tf.io.files import write_atomically

_BEGINNING = """# API

`python -m tools.api_page` writes this page from the docstrings.
Edit those, not the page.

"""
_PUBLIC = """## Public names

`import albert_tf` offers these names and imports what each needs on its first use.

"""
_REACHED = """## What these names return and share

"""
# Not in `albert_tf.__all__`, but users hold these objects or call them.
_RELATED = (
    ("albert_tf.models.base", "PretrainedModel"),
    ("albert_tf.model_config", "ModelConfig"),
    ("albert_tf.checkpoints.assignment", "LoadReport"),
    ("albert_tf.tokenization.tokenizer", "Tokenizer"),
    ("albert_tf.tokenization.decoding", "IdsAndTokens"),
    ("data_pipeline.input_pipeline", "pretraining_dataset"),
)
# Keras calls these methods, users do not.
_OF_KERAS = {"build", "call", "compute_loss", "from_config", "get_config"}
_SECTION = re.compile(r"(Args|Attributes|Call|Example|Raises|Returns): ?(.*)")
_ITEM = re.compile(r"(\*{0,2}[\w.]+(?:, \w+)*): (.*)")
_WIDTH = 88


@dataclasses.dataclass(frozen=True)
class ApiPageOptions:
    """The flags of `python -m tools.api_page`."""

    page: str = option("Page to write, a Markdown file.", "docs/api.md")


def write_page(options):
    """Writes the page."""
    write_atomically(pathlib.Path(options.page), page())


def page():
    """The text of the page."""
    public = [("albert_tf", name) for name in albert_tf.__all__]
    return (
        _BEGINNING
        + _PUBLIC
        + "".join(_entry(*name) for name in public)
        + _REACHED
        + "".join(_entry(*name) for name in _RELATED)
    ).rstrip() + "\n"


def _entry(module, name):
    """The heading, signature, docstring and methods of one name."""
    value = getattr(importlib.import_module(module), name)
    text = f"### `{module}.{name}`\n\n{_code(_declaration(name, value))}"
    text += _markdown(inspect.getdoc(value))
    if not inspect.isclass(value):
        return text
    for method_name, method in vars(value).items():
        function = getattr(method, "__func__", method)
        hidden = method_name.startswith("_") and method_name != "__call__"
        if not inspect.isfunction(function) or hidden or method_name in _OF_KERAS:
            continue
        if function.__doc__:
            shown = f"{name}.{method_name}" if method is not function else method_name
            signature = _signature(shown, getattr(value, method_name))
            text += f"#### `{name}.{method_name}`\n\n{_code(signature)}"
            text += _markdown(inspect.cleandoc(function.__doc__))
    return text


def _code(text):
    return f"```py\n{text}\n```\n\n"


def _declaration(name, value):
    """How to call it; the fields of a dataclass, with their comments."""
    if inspect.isclass(value) and issubclass(value, Exception):
        return f"class {name}({value.__base__.__name__})"
    if not dataclasses.is_dataclass(value):
        return _signature(name, value)
    body = inspect.getsource(value).split('"""')[2]
    fields = re.split(r"^    (?:def|@)", body, maxsplit=1, flags=re.MULTILINE)[0]
    return f"class {name}:\n{fields.strip(chr(10)).rstrip()}"


def _signature(name, value):
    """A call with its defaults, an argument a line where one line is too short."""
    kinds = inspect.Parameter
    arguments, starred = [], False
    for argument in inspect.signature(value).parameters.values():
        if argument.kind is kinds.KEYWORD_ONLY and not starred:
            arguments.append("*")
        starred |= argument.kind in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL)
        if argument.name != "self":
            arguments.append(_quoted(str(argument), argument.default))
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {a}," for a in arguments), ")"])


def _quoted(argument, default):
    """An argument as ruff formats it, a str in double quotes."""
    if isinstance(default, str):
        return argument.replace(repr(default), json.dumps(default, ensure_ascii=False))
    return argument


def _markdown(docstring):
    """A docstring in Google's style as Markdown, a paragraph or list a section."""
    blocks, section = [("", [])], ""
    for line in docstring.splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            section, rest = match.groups()
            blocks.append((section, [rest] if rest else []))
        elif section and line and not line.startswith(" ") and _ended(blocks[-1][1]):
            section = ""
            blocks.append((section, [line]))
        else:
            blocks[-1][1].append(line)
    return "".join(_block(title, lines) for title, lines in blocks)


def _ended(lines):
    """Whether a blank line has ended a section."""
    return bool(lines) and not lines[-1]


def _block(title, lines):
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    if title == "Example":
        return "**Example:**\n\n```py\n" + text + "\n```\n\n"
    first_is_item = title in ("Args", "Attributes", "Raises")
    end = "\n\n" if first_is_item else " "
    heading = f"**{title}:**{end}" if title else ""
    return heading + "\n".join(_listed(text.splitlines(), first_is_item)) + "\n\n"


def _listed(lines, first_is_item):
    """Yields the lines, with `name: text` as items of a list.

    Items begin at the margin in a list of arguments, and indented within a text.
    """
    margin, in_list = "" if first_is_item else "    ", first_is_item
    for line in lines:
        rest = line.removeprefix(margin)
        match = _ITEM.fullmatch(rest)
        if match and line.startswith(margin) and not rest.startswith(" "):
            if not in_list:
                yield ""
            in_list = True
            yield f"- `{match[1]}`: {match[2]}"
        elif in_list and line.startswith(margin + " "):
            yield f"  {line.strip()}"
        else:
            if in_list and line and not first_is_item:
                yield ""
                in_list = False
            yield line.strip()


if __name__ == "__main__":
    run(ApiPageOptions, write_page)
