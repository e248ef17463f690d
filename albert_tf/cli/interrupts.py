"""Ctrl-C ends a command with words: that it was obeyed, and how to go on."""

import os
import shlex
import signal
import sys

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses of a command that was asked to stop."""

_OURS = ("albert_tf.", "data_pipeline.")
_PROGRAM = "albert-tf"


def install():
    """Has `sys.excepthook` say "interrupted" where the program is one of ours.

    This is for the seconds in which a command imports its libraries; once it runs,
    `albert_tf.cli.command_line.run` does. Python then ends by SIGINT, which a shell
    shows as status 130. Programs that use this package as a library keep their
    traceback.
    """
    others = sys.excepthook

    def hook(kind, error, traceback):
        if issubclass(kind, KeyboardInterrupt) and _is_command():
            say_interrupted()
        else:
            others(kind, error, traceback)

    sys.excepthook = hook


def say_interrupted():
    """Prints that the command was interrupted, and how to go on."""
    print("\ninterrupted", file=sys.stderr)
    say_how_to_go_on()


def say_how_to_go_on():
    """Prints the command line of this process, as a shell takes it."""
    words = sys.orig_argv
    if os.path.basename(sys.argv[0]) == _PROGRAM:
        # Its first line names an interpreter, which nobody has typed.
        words = [_PROGRAM, *sys.argv[1:]]
    print(f"To continue, run: {shlex.join(words)}", file=sys.stderr)


def _is_command():
    main = sys.modules["__main__"]
    # Until Python has found the module of `python -m`, the program's name is "-m".
    if sys.argv[:1] == ["-m"]:
        return sys.orig_argv[sys.orig_argv.index("-m") + 1].startswith(_OURS)
    if getattr(main, "__spec__", None) is not None:
        return main.__spec__.name.startswith(_OURS)
    # A script such as run_pretraining.py imports this first.
    command_line = sys.modules.get("albert_tf.cli.command_line")
    return command_line is not None and vars(main).get("command_line") is command_line
