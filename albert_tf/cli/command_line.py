"""Command lines: a frozen dataclass of options becomes absl flags.

A flag is a field of a frozen dataclass that carries its help text (`option`). Each
part of the package declares the group of flags that it reads. A command's options
inherit from these groups, and `group_of` hands each part its own. `run` turns the
fields into absl flags, reads `--config=FILE.json` (flags on the command line take
precedence), builds the dataclass and calls the command with it. Each command has its
own `FlagValues`, so that one process can import several commands.
"""

import dataclasses
import functools
import inspect
import io
import itertools
import logging as standard_logging
import math
import os
import pathlib
import re
import signal
import sys
import textwrap
import typing

from absl import flags
from absl import logging

from albert_tf.cli import shell
from albert_tf.errors import UserError
from albert_tf.io import tensorflow_import
from albert_tf.io.files import find_recipe
from albert_tf.io.files import read_json_object
from albert_tf.io.near_misses import close_name

_INTERRUPTED = 128 + signal.SIGINT
_OTHER_LIBRARY = re.compile(r"/(site|dist)-packages/(?!albert_tf/|data_pipeline/)")
_EXPECTED = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text in quotation marks",
}
_ABSL = {
    bool: flags.DEFINE_bool,
    float: flags.DEFINE_float,
    int: flags.DEFINE_integer,
    str: flags.DEFINE_string,
}
_HELP = {"-h", "-help", "--help", "--helpfull"}
_WIDTH = 88
_KINDS = {int: "NUMBER", float: "NUMBER", str: "TEXT"}
_CONFIG = (
    "--config=FILE",
    "Take flags from a JSON file, or from a recipe by its name, such as "
    "pretraining/base; flags on the command line win.",
)


def option(
    help_text,
    default=dataclasses.MISSING,
    choices=None,
    minimum=None,
    maximum=None,
    may_change=False,
    aliases=(),
    names=None,
    replaces=(),
):
    """Returns a dataclass field that is a flag; required without `default`.

    Args:
        help_text: the text for `--help`.
        default: the value without the flag.
        choices: the accepted strings; None for any.
        minimum: the lowest accepted number; None for any.
        maximum: the highest accepted number; None for any.
        may_change: whether the value may change when a run continues; or
            `engine.resumption.RESTART_DATA`, the name of the flag that permits it.
        aliases: other programs' names of the flag.
        names: "model", "vocabulary" or "tables", for `hub.names.with_local_models`;
            None for anything else.
        replaces: flags that mean the same in another way; those of a `--config` count
            as not given where this one is typed.
    """
    metadata = {
        "help": help_text,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "may_change": may_change,
        "aliases": aliases,
        "names": names,
        "replaces": replaces,
    }
    return dataclasses.field(default=default, metadata=metadata)


changeable = functools.partial(option, may_change=True)
"""An `option` whose value may change when a run continues."""


def altered(flags_class, name, **changes):
    """Returns a copy of a group's flag `name` with changes for a command.

    Args:
        flags_class: the dataclass that declares the flag.
        name: the flag's name.
        **changes: `default`, or metadata of `option`, such as `help`.
    """
    field = flags_class.__dataclass_fields__[name]
    default = changes.pop("default", field.default)
    return dataclasses.field(default=default, metadata={**field.metadata, **changes})


def group_of(flags_class, options):
    """Extracts the group `flags_class` from options that inherit several groups."""
    names = [field.name for field in dataclasses.fields(flags_class)]
    return flags_class(**{name: getattr(options, name) for name in names})


def run(options_class, command, ignored=(), argv=None, read_config=None):
    """Parses the command line, calls `command(options)` and exits.

    Args:
        options_class: a frozen dataclass whose fields are made by `option`.
        command: called with the parsed `options_class`.
        ignored: names of official flags that are accepted without effect. A dict maps
            each name to the only accepted value, or to None for any.
        argv: the command line; `sys.argv` by default.
        read_config: a function from the path of `--config` and `options_class` to the
            values of flags; `config_file_values` by default.

    A `UserError` or an `OSError` prints one sentence and exits with status 1; an
    interrupt prints the command line that continues and exits with status 130.
    """
    argv = sys.argv if argv is None else argv
    tensorflow_import.install()
    _prepare_logging()
    _escape_unprintable()
    try:
        options = parse(options_class, argv, ignored, read_config)
        command(options)
    except UserError as error:
        _fail(_with_dashes(str(error), options_class))
    except OSError as error:
        if error.strerror is None:
            raise
        _fail(_sentence_of(error))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        shell.say_how_to_go_on()
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        if end.code in shell.STOPPED:
            shell.say_how_to_go_on()
        raise


def _sentence_of(error):
    """Describes an `OSError`; names a file that is in the place of a folder."""
    if not error.filename:
        return f"{error.strerror}."
    if isinstance(error, FileExistsError | NotADirectoryError):
        path = pathlib.Path(os.fsdecode(error.filename))
        for place in (path, *path.parents):
            if os.path.isfile(place):
                return f"{place} is a file, not a folder; name another path."
    return f"{error.filename}: {error.strerror}."


def _with_dashes(message, options_class):
    """Rewrites names of parameters in a message as flags: --name=value."""
    names = "|".join(field.name for field in dataclasses.fields(options_class))
    return re.sub(rf"(?<![-\w./'\"])({names})=", r"--\1=", message)


def _fail(message):
    sys.stdout.flush()
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


def parse(options_class, argv, ignored=(), read_config=None):
    """Parses `argv`, without its first item, into an `options_class`.

    Raises:
        UserError: a flag is unknown or missing, or its value has the wrong type or is
            out of range.
    """
    if shell.is_asked():
        shell.complete_flags(typed_fields(options_class))
    if not _HELP.isdisjoint(argv[1:]):
        about = sys.modules[options_class.__module__].__doc__ or ""
        print(help_text(about, options_class, ignored))
        sys.exit(0)
    flag_values = _define(options_class, ignored)
    try:
        rest = flag_values(argv)[1:]
    except flags.UnrecognizedFlagError as error:
        raise UserError(_unknown(error.flagname, options_class)) from error
    except flags.Error as error:
        raise UserError(_unfit(str(error), options_class)) from error
    if rest:
        raise UserError(
            f"Unexpected argument {rest[0]!r}; write flags as --name=value."
        )
    _check_ignored(ignored, flag_values)
    _check_names(options_class, flag_values)
    values = _config_values(flag_values, options_class, read_config)
    for field in dataclasses.fields(options_class):
        flag = flag_values[field.name]
        if flag.present or field.name not in values:
            values[field.name] = flag.value
    for field in dataclasses.fields(options_class):
        # The shell passes an empty string for an unset variable.
        if field.default is dataclasses.MISSING and values[field.name] in (None, ""):
            raise UserError(f"Flag --{field.name} is required; see --help.")
        check_range(field, values[field.name])
    return options_class(**values)


def _config_values(flag_values, options_class, read_config):
    """Reads `--config`, without flags that those of the command line replace."""
    if flag_values.config is None:
        return {}
    values = (read_config or config_file_values)(flag_values.config, options_class)
    for field in dataclasses.fields(options_class):
        flag = flag_values[field.name]
        # 0 steps of a warm-up mean none; 0.0 minutes, the default, mean no limit.
        is_zero = flag.value == 0 and flag.value != field.default
        is_told = flag.value or type(flag.value) is int or is_zero
        for name in field.metadata["replaces"] if flag.present and is_told else ():
            values.pop(name, None)
    return values


def config_file_values(path, *options_classes):
    """Reads the file of `--config`: a JSON object of flags; `"//"` keys are comments.

    Raises:
        UserError: the file cannot be read, or has an unknown flag or a value of the
            wrong type.
    """
    values = read_json_object(find_recipe(path))
    values = {k: v for k, v in values.items() if not k.startswith("//")}
    fields = [*itertools.chain.from_iterable(map(typed_fields, options_classes))]
    kinds = {field.name: kind for field, kind in fields}
    own = {a: field.name for field, _ in fields for a in field.metadata["aliases"]}
    for other in values.keys() & own.keys():
        if own[other] in values:
            raise UserError(
                f"--config={path} sets {other!r} and {own[other]!r}, which are one "
                "flag; leave one of them out."
            )
    values = {own.get(name, name): value for name, value in values.items()}
    for name, value in values.items():
        if name not in kinds:
            close = close_name(name, kinds)
            meant = f"; did you mean {close!r}?" if close else "; --help lists them."
            raise UserError(f"--config={path} sets the unknown flag {name!r}{meant}")
        accepted = (int, float) if kinds[name] is float else kinds[name]
        is_other_bool = type(value) is bool and kinds[name] is not bool
        if is_other_bool or not isinstance(value, accepted):
            raise UserError(
                f"--config={path} sets {name!r} to {value!r}; expected "
                f"{_EXPECTED[kinds[name]]}."
            )
    return values


def _escape_unprintable():
    """Makes output escape characters that the terminal lacks: \\xe9, \\u4e2d.

    Otherwise Python would raise a UnicodeEncodeError.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _prepare_logging():
    """Sends log lines to standard error: ours from INFO up, others' from WARNING up."""
    flags.FLAGS.mark_as_parsed()
    logging.use_absl_handler()
    logging.set_verbosity(logging.INFO)
    logging.set_stderrthreshold("info")
    lines = standard_logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S")
    handler = logging.get_absl_handler()
    handler.setFormatter(lines)
    handler.addFilter(_is_shown)


def _is_shown(record):
    # TensorFlow and Keras log through the same logger, for example at each checkpoint.
    theirs = _OTHER_LIBRARY.search(record.pathname)
    return not theirs or record.levelno >= standard_logging.WARNING


def run_with_texts(options_class, command, argv=None):
    """Runs `command(options, texts)`; texts are positional arguments. See `run`."""
    program, *arguments = sys.argv if argv is None else argv
    flags, texts = split_positional(arguments)
    run(options_class, lambda options: command(options, texts), argv=[program, *flags])


def split_positional(arguments):
    """Splits a command line, without its program, into flags and other words.

    A flag without a value must not precede another word.
    """
    given, positional = [], []
    for argument in arguments:
        is_value = given and given[-1].startswith("-") and "=" not in given[-1]
        (given if argument.startswith("-") or is_value else positional).append(argument)
    return given, positional


def _check_ignored(ignored, flag_values):
    """Refuses an ignored official flag unless it has the accepted value."""
    for name in ignored:
        value, only = flag_values[name].value, None
        if isinstance(ignored, dict):
            only = ignored[name]
        if None not in (value, only) and value != only:
            raise UserError(
                f"--{name}={value}: this command always has {only}; leave the flag out."
            )


def _check_names(options_class, flag_values):
    """Refuses a flag that is given under two of its names; one would be ignored."""
    for field in dataclasses.fields(options_class):
        for other in field.metadata["aliases"]:
            # A flag counts how often each of its names was given.
            if 0 < flag_values[other].present < flag_values[field.name].present:
                raise UserError(
                    f"--{other} is another name of --{field.name}; give one of them."
                )


def _unknown(name, options_class):
    """Returns the message about an unknown flag."""
    close = close_name(name, [f.name for f in dataclasses.fields(options_class)])
    what = f"did you mean --{close}?" if close else "--help lists the flags."
    return f"There is no flag --{name}; {what}"


def _unfit(message, options_class):
    """Rewrites absl's message about a value that it cannot parse."""
    match = re.match(r"flag --(\w+)=(.*?): ", message, re.DOTALL)
    kinds = {field.name: kind for field, kind in typed_fields(options_class)}
    if not match or match[1] not in kinds:
        return f"{message}; --help explains the flags."
    return f"--{match[1]}={match[2]}: expected {_EXPECTED[kinds[match[1]]]}."


def check_range(field, value):
    """Refuses a value that is not among a flag's choices or is out of range."""
    choices = field.metadata["choices"]
    minimum, maximum = field.metadata["minimum"], field.metadata["maximum"]
    if value is None:
        return
    if choices and value not in choices:
        raise UserError(
            f"--{field.name}={value}: expected one of {', '.join(choices)}."
        )
    # Not negated: every comparison with NaN is false.
    in_range = minimum is None or value >= minimum
    if not (in_range and (maximum is None or value <= maximum)):
        limits = {"at least": minimum, "at most": maximum}
        expected = [f"{k} {limit}" for k, limit in limits.items() if limit is not None]
        raise UserError(f"--{field.name}={value}: expected {' and '.join(expected)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"--{field.name}={value}: expected a finite number.")


def _define(options_class, ignored):
    """Makes the absl `FlagValues` for a dataclass of options."""
    flag_values = flags.FlagValues()
    # absl's own help is not shown; `help_text` makes a better one.
    flags.DEFINE_string("config", None, None, flag_values=flag_values)
    for field, kind in typed_fields(options_class):
        required = field.default is dataclasses.MISSING
        default = None if required else field.default
        _ABSL[kind](field.name, default, None, flag_values=flag_values)
        for other in field.metadata["aliases"]:
            flags.DEFINE_alias(other, field.name, flag_values=flag_values)
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
        about: a description of the command, an example, and a page with details.
        options_class: a dataclass of options. Its own flags come first, then the flags
            of each group that it inherits from, under the first line of its docstring.
        ignored: names of official flags that have no effect.
    """
    known = {field.name: (field, kind) for field, kind in typed_fields(options_class)}
    groups = _groups(options_class, known)
    parts = [about.strip()]
    for heading, names in groups.items():
        entries = [_entry(*known[name]) for name in names]
        parts.append("\n".join([f"{heading}:", *entries]))
    parts.append(f"  {_CONFIG[0]}\n{_indented(_CONFIG[1])}")
    if ignored:
        names = ", ".join(f"--{name}" for name in ignored)
        text = f"Official flags that are accepted and have no effect: {names}."
        parts.append(textwrap.fill(text, _WIDTH, break_on_hyphens=False))
    return "\n\n".join(parts)


def _groups(options_class, known):
    """Groups flag names by heading, each under the class that first declares it.

    The flags of `options_class` come first, then groups with required flags.
    """
    declared = {c: inspect.get_annotations(c) for c in options_class.__mro__}
    owners = {name: owner for owner, names in declared.items() for name in names}
    required = {name for name, (field, _) in known.items() if _is_required(field)}
    groups = {}
    for owner, names in declared.items():
        own = [name for name in names if name in known and owners[name] is owner]
        if own:
            heading = inspect.getdoc(owner).splitlines()[0].rstrip(".")
            heading = "Flags" if owner is options_class else heading
            groups[heading] = sorted(own, key=lambda name: name not in required)
    order = sorted(groups, key=lambda h: (h != "Flags", not required & {*groups[h]}))
    return {heading: groups[heading] for heading in order}


def _entry(field, kind):
    """Returns the help lines for one flag."""
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
