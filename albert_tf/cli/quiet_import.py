"""Keeps what TensorFlow says of itself while it is imported off the terminal.

TensorFlow's libraries log a few lines on oneDNN, CUDA and their log before they read
TF_CPP_MIN_LOG_LEVEL, straight to the file descriptor of standard error.
"""

import contextlib
import faulthandler
import importlib.util
import os
import re
import sys
import tempfile

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
# "WARNING: All log messages before absl::InitializeLog() …", absl's lines below the
# level FATAL, and TensorFlow's own form of them.
_NOISE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog"
    rb"|[IWE]\d{4} \d\d:\d\d:\d\d\.\d+|[IWE]0000 00:00:"
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] "
)


def install():
    """Quiets the import of TensorFlow, wherever it is, and its log after that.

    Nothing changes where the user has set TF_CPP_MIN_LOG_LEVEL to a lower level than 3,
    or has imported TensorFlow. Worker processes inherit the level.
    """
    wanted = os.environ.setdefault(_LEVEL, "3") == "3"
    if wanted and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds TensorFlow once, and has its import run without noise."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "tensorflow":
            return None
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                with without_noise():
                    load(module)

            spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def without_noise():
    """Collects what is written to standard error; then passes on what is no noise."""
    sys.stderr.flush()
    try:
        shown = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    watched = not faulthandler.is_enabled()
    with tempfile.TemporaryFile() as hidden, open(shown, "wb") as stream:
        os.dup2(hidden.fileno(), 2)
        if watched:  # a crash, as of a wrong kind of CPU, is said on the terminal
            faulthandler.enable(stream)
        try:
            yield
        finally:
            if watched:
                faulthandler.disable()
            sys.stderr.flush()
            os.dup2(shown, 2)
            hidden.seek(0)
            lines = hidden.read().splitlines(keepends=True)
            stream.write(b"".join(line for line in lines if not _NOISE.match(line)))
