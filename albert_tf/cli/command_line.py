"""Command lines: a frozen dataclass of options becomes absl flags.

A flag is a field of a frozen dataclass that carries its help text (`option`). Each
part declares a group of those that it uses; the options of a command are a dataclass
of such groups, and each part gets its own whole (`group_of`). `run` turns the fields
into absl flags, reads
`--config=FILE.json` under them (flags on the command line win), builds the
dataclass and calls the command with it. The flags live in a `FlagValues` of
their own, so several commands can be imported into one process.
"""

import dataclasses
import functools
import io
import itertools
import logging as standard_logging
import os
import pathlib
import re
import signal
import sys

from absl import flags
from absl import logging

from albert_tf.cli import shell
from albert_tf.cli.flag_fields import EXPECTED
from albert_tf.cli.flag_fields import aliases
from albert_tf.cli.flag_fields import check_ignored
from albert_tf.cli.flag_fields import check_range
from albert_tf.cli.flag_fields import define
from albert_tf.cli.flag_fields import help_text
from albert_tf.cli.flag_fields import typed_fields
from albert_tf.cli.flag_fields import unfit
from albert_tf.cli.flag_fields import unknown
from albert_tf.cli.flag_fields import with_own_names
from albert_tf.errors import UserError
from albert_tf.io import tensorflow_import
from albert_tf.io.files import find_recipe
from albert_tf.io.files import read_json_object
from albert_tf.io.near_misses import close_name

_INTERRUPTED = 128 + signal.SIGINT
_OTHER_LIBRARY = re.compile(r"/(site|dist)-packages/(?!albert_tf/|data_pipeline/)")


def option(
    help_text,
    default=dataclasses.MISSING,
    choices=None,
    minimum=None,
    maximum=None,
    may_change=False,
    aliases=(),
    names=None,
):
    """Returns a dataclass field that is a flag; required without `default`.

    Args:
        help_text: the text for `--help`.
        default: the value without the flag.
        choices: the strings that are accepted; None for any.
        minimum: the lowest number that is accepted; None for any.
        maximum: the highest one.
        may_change: whether a continued run may have another value than before; or
            `engine.resumption.RESTART_DATA`, the name of the flag with which it may.
        aliases: other names of the flag, as other programs have them.
        names: "model" or "vocabulary", for `hub.names.with_local_models`; None for
            anything else.
    """
    metadata = {
        "help": help_text,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "may_change": may_change,
        "aliases": aliases,
        "names": names,
    }
    return dataclasses.field(default=default, metadata=metadata)


changeable = functools.partial(option, may_change=True)
"""An `option` of which a continued run may have another value than before."""


def altered(flags_class, name, **changes):
    """Returns the flag `name` of a group, changed for a command.

    Args:
        flags_class: the dataclass that declares the flag.
        name: its name.
        **changes: `default`, or metadata of `option`, such as `help`.
    """
    field = flags_class.__dataclass_fields__[name]
    default = changes.pop("default", field.default)
    return dataclasses.field(default=default, metadata={**field.metadata, **changes})


def group_of(flags_class, options):
    """Returns the group `flags_class` of options that hold more groups."""
    names = [field.name for field in dataclasses.fields(flags_class)]
    return flags_class(**{name: getattr(options, name) for name in names})


def run(options_class, command, ignored=(), argv=None, read_config=None):
    """Parses the command line, calls `command(options)` and exits.

    Args:
        options_class: a frozen dataclass whose fields are made by `option`.
        command: called with the parsed `options_class`.
        ignored: names of official flags that are accepted and have no effect; of a
            dict, each has the one value that the command always has, or any for None.
        argv: the command line; `sys.argv` by default.
        read_config: from the file of `--config` and `options_class` to the values of
            flags; `config_file_values` by default.

    A `UserError`, or a file that cannot be read or written, is printed as one
    sentence and exits with status 1, an interrupt with status 130. A user who stops a
    command reads the command line that goes on.
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
    """Says what an `OSError` of a path means; names the file in a folder's place."""
    if not error.filename:
        return f"{error.strerror}."
    if isinstance(error, FileExistsError | NotADirectoryError):
        path = pathlib.Path(os.fsdecode(error.filename))
        for place in (path, *path.parents):
            if os.path.isfile(place):
                return f"{place} is a file, not a folder; name another path."
    return f"{error.filename}: {error.strerror}."


def _with_dashes(message, options_class):
    """Rewrites the parameters in a message of the library as flags: --name=value."""
    names = "|".join(field.name for field in dataclasses.fields(options_class))
    return re.sub(rf"(?<![-\w./'\"])({names})=", r"--\1=", message)


def _fail(message):
    sys.stdout.flush()
    print(f"error: {message}", file=sys.stderr)
    sys.exit(1)


def parse(options_class, argv, ignored=(), read_config=None):
    """Returns `options_class` filled from `argv` (whose first item is skipped).

    Raises:
        UserError: an unknown or missing flag, or a value of the wrong type or out
            of range.
    """
    if shell.is_asked():
        shell.complete_flags(options_class)
    if any(argument.lstrip("-") in ("help", "helpfull") for argument in argv[1:]):
        about = sys.modules[options_class.__module__].__doc__ or ""
        print(help_text(about, options_class, ignored))
        sys.exit(0)
    flag_values = define(options_class, ignored)
    try:
        rest = flag_values(with_own_names(argv, options_class))[1:]
    except flags.UnrecognizedFlagError as error:
        raise UserError(unknown(error.flagname, options_class)) from error
    except flags.Error as error:
        raise UserError(unfit(str(error), options_class)) from error
    if rest:
        raise UserError(
            f"Unexpected argument {rest[0]!r}; write flags as --name=value."
        )
    check_ignored(ignored, flag_values)
    values = {}
    if flag_values.config is not None:
        read_config = read_config or config_file_values
        values = read_config(flag_values.config, options_class)
    for field in dataclasses.fields(options_class):
        flag = flag_values[field.name]
        if flag.present or field.name not in values:
            values[field.name] = flag.value
    for field in dataclasses.fields(options_class):
        # An empty text is what a shell makes of a variable that is not set.
        if field.default is dataclasses.MISSING and values[field.name] in (None, ""):
            raise UserError(f"Flag --{field.name} is required; see --help.")
        check_range(field, values[field.name])
    return options_class(**values)


def config_file_values(path, *options_classes):
    """Reads `--config`: the values of a JSON object by flag; `"//"` keys are comments.

    Raises:
        UserError: the file cannot be read, or sets a flag that none of the dataclasses
            has, or to a value of the wrong type.
    """
    values = read_json_object(find_recipe(path))
    values = {k: v for k, v in values.items() if not k.startswith("//")}
    fields = itertools.chain.from_iterable(map(typed_fields, options_classes))
    kinds = {field.name: kind for field, kind in fields}
    own = aliases(*options_classes)
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
        if type(value) is bool and kinds[name] is not bool:
            accepted = ()
        if not isinstance(value, accepted):
            raise UserError(
                f"--config={path} sets {name!r} to {value!r}; expected "
                f"{EXPECTED[kinds[name]]}."
            )
    return values


def _escape_unprintable():
    """Has letters that the terminal cannot show printed as \\xe9 or \\u4e2d.

    Python ends with UnicodeEncodeError in their place, as for é under
    PYTHONIOENCODING=ascii.
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
    # TensorFlow and Keras log through the same logger, at every checkpoint for one.
    theirs = _OTHER_LIBRARY.search(record.pathname)
    return not theirs or record.levelno >= standard_logging.WARNING


def run_with_texts(options_class, command, argv=None):
    """Runs `command(options, texts)`: texts stand beside the flags. See `run`."""
    program, *arguments = sys.argv if argv is None else argv
    flags, texts = split_positional(arguments)
    run(options_class, lambda options: command(options, texts), argv=[program, *flags])


def split_positional(arguments):
    """Tells flags, with their values, from the words beside them: two lists.

    The command line has no program in front, and no flag without a value is the last
    one before a word.
    """
    given, positional = [], []
    for argument in arguments:
        is_value = given and given[-1].startswith("-") and "=" not in given[-1]
        (given if argument.startswith("-") or is_value else positional).append(argument)
    return given, positional
