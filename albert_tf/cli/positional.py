"""Command lines with arguments beside the flags, such as texts and files."""

import sys

from albert_tf.cli import command_line


def run_with_texts(options_class, command, argv=None):
    """Runs a command that takes flags and, beside them, texts.

    Args:
        options_class: as `command_line.run`.
        command: called with the parsed options and the list of texts.
        argv: the command line; `sys.argv` by default.
    """
    program, *arguments = sys.argv if argv is None else argv
    flags, texts = split_positional(arguments)
    command_line.run(
        options_class, lambda options: command(options, texts), argv=[program, *flags]
    )


def split_positional(arguments):
    """Tells flags, with their values, from the words beside them.

    Args:
        arguments: a command line without its first item, in which flags that take no
            value are not the last before a positional argument.

    Returns:
        Two lists.
    """
    given, positional = [], []
    for argument in arguments:
        is_value = given and given[-1].startswith("-") and "=" not in given[-1]
        (given if argument.startswith("-") or is_value else positional).append(argument)
    return given, positional
