"""Flags of a dataclass: their names, types, sensible values, and help."""

import dataclasses
import inspect
import itertools
import math
import re
import textwrap
import typing

from absl import flags

from albert_tf.errors import UserError
from albert_tf.io.near_misses import close_name

EXPECTED = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text in quotation marks",
}
_WIDTH = 88
_KINDS = {int: "NUMBER", float: "NUMBER", str: "TEXT"}
_CONFIG = (
    "--config=FILE",
    "Take flags from a JSON file, or from a recipe by its name, such as "
    "pretraining/base; flags on the command line win.",
)


def aliases(*options_classes):
    """Returns the names of flags, by other names of them."""
    fields = itertools.chain.from_iterable(map(dataclasses.fields, options_classes))
    return {
        other: field.name for field in fields for other in field.metadata["aliases"]
    }


def with_own_names(argv, options_class):
    """Returns the command line, with flags under the names of their fields."""
    own = aliases(options_class)
    given = [re.match(r"--?(\w+)", argument) for argument in argv]
    names = {match[1] for match in given if match}
    for other in names & own.keys():
        if own[other] in names:
            raise UserError(
                f"--{other} is another name of --{own[other]}; give one of them."
            )
    return [
        argument.replace(match[1], own[match[1]], 1)
        if match and match[1] in own
        else argument
        for match, argument in zip(given, argv, strict=True)
    ]


def check_ignored(ignored, flag_values):
    """Refuses other values of official flags than the one that always holds."""
    for name in ignored:
        value, only = flag_values[name].value, None
        if isinstance(ignored, dict):
            only = ignored[name]
        if None not in (value, only) and value != only:
            raise UserError(
                f"--{name}={value}: this command always has {only}; leave the flag out."
            )


def unknown(name, options_class):
    """Returns the message on a flag that the command does not have."""
    close = close_name(
        name, [field.name for field in dataclasses.fields(options_class)]
    )
    what = f"did you mean --{close}?" if close else "--help lists the flags."
    return f"There is no flag --{name}; {what}"


def unfit(message, options_class):
    """Returns the message on a value that absl cannot read, from absl's own."""
    match = re.match(r"flag --(\w+)=(.*?): ", message, re.DOTALL)
    fields = {field.name: (field, kind) for field, kind in typed_fields(options_class)}
    if not match or match[1] not in fields:
        return f"{message}; --help explains the flags."
    field, kind = fields[match[1]]
    choices = field.metadata["choices"]
    expected = f"one of {', '.join(choices)}" if choices else EXPECTED[kind]
    return f"--{match[1]}={match[2]}: expected {expected}."


def check_range(field, value):
    choices = field.metadata["choices"]
    minimum, maximum = field.metadata["minimum"], field.metadata["maximum"]
    if value is None:
        return
    if choices and value not in choices:
        raise UserError(
            f"--{field.name}={value}: expected one of {', '.join(choices)}."
        )
    # Not the other way round: every comparison with NaN is false.
    in_range = minimum is None or value >= minimum
    if not (in_range and (maximum is None or value <= maximum)):
        limits = {"at least": minimum, "at most": maximum}
        expected = [f"{k} {limit}" for k, limit in limits.items() if limit is not None]
        raise UserError(f"--{field.name}={value}: expected {' and '.join(expected)}.")
    _check_sense(field.name, value)


def _check_sense(name, value):
    """Refuses values that nothing can be done with, whatever the flag."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"--{name}={value}: expected a finite number.")
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise UserError(f"--{name}={value}: expected a number of at most 64 bits.")
    if isinstance(value, str) and "\0" in value:
        raise UserError(
            f"--{name}={value!r} holds a NUL character, which no path or text has; "
            "leave it out."
        )


def define(options_class, ignored):
    flag_values = flags.FlagValues()
    # absl's own help is not shown; `help_text` makes a better one.
    flags.DEFINE_string("config", None, None, flag_values=flag_values)
    for field, kind in typed_fields(options_class):
        required = field.default is dataclasses.MISSING
        default = None if required else field.default
        if field.metadata["choices"]:
            choices = list(field.metadata["choices"])
            flags.DEFINE_enum(
                field.name, default, choices, None, flag_values=flag_values
            )
            continue
        define_flag = {
            bool: flags.DEFINE_bool,
            int: flags.DEFINE_integer,
            float: flags.DEFINE_float,
            str: flags.DEFINE_string,
        }[kind]
        define_flag(field.name, default, None, flag_values=flag_values)
    for name in ignored:
        flags.DEFINE_string(name, None, None, flag_values=flag_values)
    return flag_values


def typed_fields(options_class):
    """Yields each field with its plain type (`int | None` counts as `int`)."""
    hints = typing.get_type_hints(options_class)
    for field in dataclasses.fields(options_class):
        hint = hints[field.name]
        kinds = [k for k in typing.get_args(hint) if k is not type(None)]
        yield field, kinds[0] if kinds else hint


def help_text(about, options_class, ignored=()):
    """Returns the text of `--help`.

    Args:
        about: what the command does, an example, and the page that says more.
        options_class: a dataclass of options. Its own flags come first, then the flags
            of each group that it inherits from, under the first line of its docstring.
        ignored: names of official flags that have no effect.
    """
    flags = {field.name: (field, kind) for field, kind in typed_fields(options_class)}
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
