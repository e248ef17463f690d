"""Flags of commands that read or write models."""

import dataclasses
import functools

from albert_tf.cli.command_line import changeable
from albert_tf.io import checksums

FORMATS = ("model_directory", "tf1", "huggingface")
"""The formats in which a model can be written."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadingFlags:
    """Reading of a model's weights."""

    verify_checksum: bool = changeable(
        "Compare the weights of each model with their checksum before they are used; "
        "--noverify_checksum saves about a second for each gigabyte.",
        True,
    )


def obeys_reading_flags(command):
    """Applies the `ReadingFlags` in a function's first argument; a decorator."""

    @functools.wraps(command)
    def obeying(options, *arguments):
        with checksums.verifying_weights(options.verify_checksum):
            return command(options, *arguments)

    return obeying
