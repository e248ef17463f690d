"""Shell support: completion by argcomplete, and how to continue after Ctrl-C.

  pip install 'albert-tf[completion]'
  eval "$(register-python-argcomplete albert-tf)"     # in ~/.bashrc or ~/.zshrc

The shell calls `albert-tf` with `_ARGCOMPLETE` in the environment; the command answers
with possible completions and does nothing else.
"""

import argparse
import os
import shlex
import signal
import sys

from albert_tf.io.files import find_recipe
from albert_tf.io.files import read_json_object
from albert_tf.io.files import recipe_names

_ASKED = "_ARGCOMPLETE"
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses of an interrupted command."""
_PROGRAM = "albert-tf"


def is_asked():
    """Returns whether the shell wants completions instead of running the command."""
    return _ASKED in os.environ


def complete_commands(names):
    """Completes the name of a command, and exits.

    It returns only if the line already has a command, whose flags are to be completed.
    """
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    if len(line.split()) > 1 + (not line.endswith(" ")):
        os.environ[_ASKED] = "2"  # the position of the word that flags follow
        return
    parser = _parser()
    parser.add_argument("command", choices=list(names))
    _answer(parser)


def complete_flags(typed_fields):
    """Completes the flags of a command, or a flag's values, and exits.

    Args:
        typed_fields: the fields of the command's options, with their types.
    """
    parser = _parser()
    names = set()
    for field, kind in typed_fields:
        names.update([field.name, *field.metadata["aliases"]])
        takes = {"choices": field.metadata["choices"]}
        if kind is bool:
            takes = {"action": "store_true"}
        parser.add_argument(f"--{field.name}", **takes)
    parser.add_argument("--config").completer = _configs_of(names)
    parser.add_argument("words", nargs="*")
    _answer(parser)


def _configs_of(flags):
    """Returns a completer of JSON files and of the recipes that set only `flags`."""
    from argcomplete.completers import FilesCompleter

    def suits(recipe):
        keys = read_json_object(find_recipe(recipe))
        return all(key in flags or key.startswith("//") for key in keys)

    files = FilesCompleter(["json"])
    return lambda prefix, **_: [*files(prefix), *filter(suits, recipe_names())]


def _parser():
    return argparse.ArgumentParser(add_help=False, allow_abbrev=False)


def _answer(parser):
    import argcomplete

    argcomplete.autocomplete(parser, always_complete_options="long")


def say_how_to_go_on():
    """Prints the command line of this process, quoted for a shell."""
    words = sys.orig_argv
    if os.path.basename(sys.argv[0]) == _PROGRAM:
        # Its first line names an interpreter, which no user typed.
        words = [_PROGRAM, *sys.argv[1:]]
    print(f"To continue, run: {shlex.join(words)}", file=sys.stderr)
