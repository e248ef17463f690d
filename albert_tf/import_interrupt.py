"""Ctrl-C while a command still imports its libraries is a word, not a traceback."""

import sys

_OURS = ("albert_tf.", "data_pipeline.")


def install():
    """Has `sys.excepthook` say "interrupted" where the program is one of ours.

    Once a command runs, `albert_tf.command_line.run` does. Python then ends by SIGINT,
    which a shell shows as status 130. Programs that use this package as a library keep
    their traceback.
    """
    others = sys.excepthook

    def hook(kind, error, traceback):
        if issubclass(kind, KeyboardInterrupt) and _is_command():
            print("\ninterrupted", file=sys.stderr)
        else:
            others(kind, error, traceback)

    sys.excepthook = hook


def _is_command():
    main = sys.modules["__main__"]
    # Until Python has found the module of `python -m`, the program's name is "-m".
    if sys.argv[:1] == ["-m"]:
        return sys.orig_argv[sys.orig_argv.index("-m") + 1].startswith(_OURS)
    if getattr(main, "__spec__", None) is not None:
        return main.__spec__.name.startswith(_OURS)
    # A script such as run_pretraining.py imports this first.
    command_line = sys.modules.get("albert_tf.command_line")
    return command_line is not None and vars(main).get("command_line") is command_line
