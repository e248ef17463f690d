"""What a fine-tuning run was made of, kept in its folder: it goes on with that only."""

import pathlib

from albert_tf.command_line import lasting_values
from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.files import write_json

_FILE = "flags.json"


class RunRecord:
    """The flags and the content of the files of a run.

    Args:
        options: `TaskOptions`; each declares whether a continued run may change it.
        source: the `Source`.
        examples: what was read of its splits, by name.
    """

    def __init__(self, options, source, examples):
        self._directory = pathlib.Path(options.output_dir)
        self._flags = lasting_values(options)
        names = ("train", *source.dev)
        self._files = {name: examples[name].digest() for name in names}
        self._paths = {name: examples[name].path for name in names}

    def check(self):
        """Refuses to go on with a run that was made of something else.

        Raises:
            UserError: a flag, or the content of a file, is not what it was.
        """
        path = self._directory / _FILE
        if not (path.exists() and (self._directory / "checkpoints").exists()):
            return
        earlier = read_json_object(path)
        # Runs of version 0.1.0 hold their flags only.
        flags = earlier.get("flags", earlier)
        for name, value in self._flags.items():
            if flags.get(name, value) != value:
                raise UserError(
                    f"{self._directory} holds a run with --{name}={flags[name]}, not "
                    f"{value}; choose another --output_dir, or the same flags."
                )
        files = earlier.get("files", {})
        for name, digest in self._files.items():
            if files.get(name, digest) != digest:
                raise UserError(
                    f"{self._paths[name]} has changed since the run in "
                    f"{self._directory} began; choose another --output_dir, or put the "
                    "file back as it was."
                )

    def write(self):
        """Writes `flags.json`."""
        record = {"flags": self._flags, "files": self._files}
        write_json(self._directory / _FILE, record)
