"""The text of `--help`: the work of a command, then its flags in groups."""

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
    """Returns the text of `--help`.

    Args:
        about: what the command does, an example, and the page that says more.
        options_class: a dataclass of options. Its own flags come first, then the flags
            of each group that it inherits from, under the first line of its docstring.
        typed_fields: (field, type) of each flag.
        ignored: names of official flags that have no effect.
    """
    flags = {field.name: (field, kind) for field, kind in typed_fields}
    groups = _groups(options_class, flags)
    parts = [about.strip()]
    for heading, names in groups.items():
        entries = [_entry(*flags[name]) for name in names]
        parts.append("\n".join([f"{heading}:", *entries]))
    parts.append(f"  {_CONFIG[0]}\n{_indented(_CONFIG[1])}")
    if ignored:
        names = ", ".join(f"--{name}" for name in ignored)
        text = f"Official flags that are accepted and have no effect: {names}."
        parts.append(textwrap.fill(text, _WIDTH, break_on_hyphens=False))
    return "\n\n".join(parts)


def _groups(options_class, flags):
    """Lists the names of flags by heading: each under the class that first declares it.

    The flags of `options_class` come first, then groups in which some are required.
    """
    declared = {c: inspect.get_annotations(c) for c in options_class.__mro__}
    owners = {name: owner for owner, names in declared.items() for name in names}
    required = {name for name, (field, _) in flags.items() if _is_required(field)}
    groups = {}
    for owner, names in declared.items():
        own = [name for name in names if name in flags and owners[name] is owner]
        if own:
            heading = inspect.getdoc(owner).splitlines()[0].rstrip(".")
            heading = "Flags" if owner is options_class else heading
            groups[heading] = sorted(own, key=lambda name: name not in required)
    order = sorted(groups, key=lambda h: (h != "Flags", not required & {*groups[h]}))
    return {heading: groups[heading] for heading in order}


def _entry(field, kind):
    """Returns the lines on one flag."""
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
