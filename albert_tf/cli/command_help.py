"""The text of `--help`: what a command does, then its flags in groups."""

import dataclasses
import inspect
import textwrap

_WIDTH = 88
_KINDS = {int: "NUMBER", float: "NUMBER", str: "TEXT"}
_CONFIG = (
    "--config=FILE",
    "Take flags from a JSON file, or from a recipe by its name, such as "
    "pretraining/base; flags on the command line win.",
)


def help_text(about, options_class, typed_fields, ignored=()):
    """Returns what `--help` prints.

    Args:
        about: what the command does, an example, and the page that says more.
        options_class: a dataclass of options. Its `GROUPS`, if it has one, maps
            headings to the names of flags, separated by spaces, the essential ones
            first. Flags that are in no group come last, inherited ones behind others.
        typed_fields: (field, type) of each flag.
        ignored: names of official flags that have no effect.
    """
    flags = {field.name: (field, kind) for field, kind in typed_fields}
    groups = {k: v.split() for k, v in getattr(options_class, "GROUPS", {}).items()}
    grouped = {name for names in groups.values() for name in names}
    rest = [name for name in flags if name not in grouped]
    own = inspect.get_annotations(options_class)
    groups["Other flags" if groups else "Flags"] = sorted(
        rest, key=lambda name: (not _is_required(flags[name][0]), name not in own)
    )
    parts = [about.strip()]
    for heading, names in groups.items():
        if names:
            entries = [_entry(*flags[name]) for name in names]
            parts.append("\n".join([f"{heading}:", *entries]))
    parts.append(f"  {_CONFIG[0]}\n{_indented(_CONFIG[1])}")
    if ignored:
        names = ", ".join(f"--{name}" for name in ignored)
        text = f"Official flags that are accepted and have no effect: {names}."
        parts.append(textwrap.fill(text, _WIDTH, break_on_hyphens=False))
    return "\n\n".join(parts)


def _entry(field, kind):
    """The lines on one flag."""
    default, choices = field.default, field.metadata["choices"]
    if kind is bool:
        head = f"--[no]{field.name}"
        default = str(default).lower()
    else:
        head = f"--{field.name}={'|'.join(choices) if choices else _KINDS[kind]}"
    if _is_required(field):
        head += "  (required)"
    elif default not in (None, "None", "none", ""):
        head += f"  (default: {default})"
    text = field.metadata["help"]
    others = " and ".join(f"--{name}" for name in field.metadata["aliases"])
    if others:
        text += f" {others} is another name of this flag."
    return f"  {head}\n{_indented(text)}"


def _is_required(field):
    return field.default is dataclasses.MISSING


def _indented(text):
    space = " " * 6
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    )
