"""The words with which a command ends at Ctrl-C: that it obeyed, and how to go on."""

import os
import shlex
import signal
import sys

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses of a command that was asked to stop."""

_PROGRAM = "albert-tf"


def say_interrupted():
    """Prints that the command was interrupted, and how to go on."""
    print("\ninterrupted", file=sys.stderr)
    say_how_to_go_on()


def say_how_to_go_on():
    """Prints the command line of this process, as a shell takes it."""
    words = sys.orig_argv
    if os.path.basename(sys.argv[0]) == _PROGRAM:
        # Its first line names an interpreter, which no user typed.
        words = [_PROGRAM, *sys.argv[1:]]
    print(f"To continue, run: {shlex.join(words)}", file=sys.stderr)
