"""Loads the operations of onnxruntime-extensions, for files that take strings."""

import os
import sys

from albert_tf.errors import UserError
from albert_tf.errors import of_extra

OPERATIONS = "ai.onnx.contrib"
"""The domain of the operations in a file."""
_PACKAGE = "onnxruntime_extensions"
_loaded: list[str] = []  # by this module, which loads it as it must be loaded


def operations_library():
    """Returns the path of the library of `OPERATIONS`.

    It calls its own sentencepiece; TensorFlow's, of another version, ends the process.

    Raises:
        UserError: onnxruntime-extensions is not installed, or was imported before, with
            which the process would end.
    """
    if _PACKAGE in sys.modules and not _loaded:
        raise UserError(
            f"{_PACKAGE} was imported before albert_tf opened a file that takes "
            "strings; open the file first."
        )
    _loaded.append(_PACKAGE)
    before = sys.getdlopenflags()
    sys.setdlopenflags(before | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        with of_extra("text_in", "A file of strings needs onnxruntime-extensions"):
            import onnxruntime_extensions
    finally:
        sys.setdlopenflags(before)
    return onnxruntime_extensions.get_library_path()
