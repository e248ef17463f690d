"""Writing files so that no reader ever sees half of one."""

import os


def write_atomically(path, data):
    """Writes bytes to a temporary name beside `path`, then renames it.

    Folders that are missing are made.

    Raises:
        OSError: the file cannot be written; `path` is as it was.
    """
    temporary = f"{path}.tmp"
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)
