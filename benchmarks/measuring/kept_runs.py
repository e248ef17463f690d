"""Runs that a later call keeps: made as that call would make them, or refused."""

import json
import pathlib

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically

_NAME = "made_with.json"
_SHARD = ".tfrecord"


def check(folder, **facts):
    """Compares the conditions of runs with an earlier call's in their folder.

    The first call writes `made_with.json` there.

    Args:
        facts: by the names of flags, values that JSON can hold; and `Path`s or lists
            of them, which stand for the contents of these files and folders.
    """
    text = json.dumps(facts, indent=1, default=_digest)
    path = folder / _NAME
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        return
    known, asked = read_json_object(path), json.loads(text)
    for name in {**known, **asked}:
        if known.get(name) != asked.get(name):
            was, now = known.get(name), facts.get(name)
            other = f"settings: {name}={was}, which is {now} now"
            if isinstance(now, (pathlib.Path, list)):
                other = f"contents of --{name}"
            raise UserError(
                f"{folder} holds runs that were made with other {other}; name another "
                "--output_dir, or delete that folder."
            )


def _digest(path):
    """Computes a value that tells the contents of a file or folder from others."""
    if path.is_file():
        return checksums.of_file(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    # A model's folder also holds logs. A data set's list leaves out its shards.
    if named := checksums.read(path):
        named |= {checksums.NAME: None}
        files = [f for f in files if f.name in named or f.suffix == _SHARD]
    lines = [f"{checksums.of_file(file)} {file.relative_to(path)}" for file in files]
    return checksums.of_bytes("\n".join(lines).encode())
