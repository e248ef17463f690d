"""Answers to the shell: completion, by argcomplete, and how to go on after Ctrl-C.

  pip install 'albert-tf[completion]'
  eval "$(register-python-argcomplete albert-tf)"     # in ~/.bashrc or ~/.zshrc

The shell calls `albert-tf` with `_ARGCOMPLETE` in the environment; the command answers
with the possible ends of the line and does nothing else.
"""

import argparse
import os
import shlex
import signal
import sys

_ASKED = "_ARGCOMPLETE"
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses of a command that was asked to stop."""
_PROGRAM = "albert-tf"


def is_asked():
    """Returns whether the shell asks for completions and not for the command."""
    return _ASKED in os.environ


def complete_commands(names):
    """Answers the shell with names of commands, and exits.

    Returns only where a command is on the line already: its own flags are wanted then.
    """
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    if len(line.split()) > 1 + (not line.endswith(" ")):
        os.environ[_ASKED] = "2"  # the place of the word behind which flags stand
        return
    parser = _parser()
    parser.add_argument("command", choices=list(names))
    _answer(parser)


def complete_flags(typed_fields):
    """Answers the shell with the flags of a command or a flag's values, and exits.

    Args:
        typed_fields: the fields of the command's options, with their types.
    """
    parser = _parser()
    parser.add_argument("--config")
    for field, kind in typed_fields:
        takes = {"choices": field.metadata["choices"]}
        if kind is bool:
            takes = {"action": "store_true"}
        parser.add_argument(f"--{field.name}", **takes)
    parser.add_argument("words", nargs="*")
    _answer(parser)


def _parser():
    return argparse.ArgumentParser(add_help=False, allow_abbrev=False)


def _answer(parser):
    import argcomplete

    argcomplete.autocomplete(parser, always_complete_options="long")


def say_how_to_go_on():
    """Prints the command line of this process, as a shell takes it."""
    words = sys.orig_argv
    if os.path.basename(sys.argv[0]) == _PROGRAM:
        # Its first line names an interpreter, which no user typed.
        words = [_PROGRAM, *sys.argv[1:]]
    print(f"To continue, run: {shlex.join(words)}", file=sys.stderr)
