"""Imports TensorFlow without noise, in two thirds of the time.

TensorFlow's libraries log a few lines about oneDNN and CUDA to standard error before
they read TF_CPP_MIN_LOG_LEVEL.

The import makes half a million objects that stay until the program ends. Python's
garbage collector traverses them again and again: `python -c "import tensorflow"` takes
3.1 seconds with it and 1.9 without.
"""

import contextlib
import faulthandler
import gc
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
    """Speeds up and quiets the coming import of TensorFlow.

    Commands call this; `import albert_tf` does not change its process. A user's
    TF_CPP_MIN_LOG_LEVEL of 0 or 2 keeps the log, and worker processes inherit the
    level. Once TensorFlow is imported, the call has no effect.
    """
    # The import sets 1, which the programs that a notebook starts inherit.
    if os.environ.get(_LEVEL, "1") == "1":
        os.environ[_LEVEL] = "3"
    quiet = os.environ[_LEVEL] == "3"
    if "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _Finder(quiet))


class _Finder:
    """Finds TensorFlow once and speeds up its import, without noise if `quiet`."""

    def __init__(self, quiet):
        self._quiet = quiet

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                noise = without_noise() if self._quiet else contextlib.nullcontext()
                with noise, without_collections():
                    load(module)

            spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def without_collections():
    """Collects garbage, stops the collector, and exempts all new objects for good."""
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if collects:
            gc.enable()


@contextlib.contextmanager
def without_noise():
    """Holds back standard error, and passes on all lines but noise at the end."""
    sys.stderr.flush()
    try:
        shown = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    watched = not faulthandler.is_enabled()
    with tempfile.TemporaryFile() as hidden, open(shown, "wb") as stream:
        os.dup2(hidden.fileno(), 2)
        if watched:  # a crash, as on an unsupported CPU, still reaches the terminal
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
