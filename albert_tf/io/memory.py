"""Memory that a process has freed but still holds."""

import contextlib
import ctypes


def release_memory():
    """Returns freed memory to the system, where the C library keeps it in pieces.

    glibc keeps all that lies below the last piece in use, such as the weights of an
    inference session that was closed.
    """
    with contextlib.suppress(OSError, TypeError, AttributeError):  # other systems
        ctypes.CDLL(None).malloc_trim(0)
