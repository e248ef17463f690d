"""Flags of a dataclass: their names, their types and the values that make sense."""

import dataclasses
import itertools
import math
import re
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
