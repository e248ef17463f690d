"""What commands that read or write models have in common."""

import dataclasses
import functools

from albert_tf.cli.command_line import option
from albert_tf.io import checksums

FORMATS = ("model_directory", "tf1", "huggingface")
"""The forms in which a model is written."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadingFlags:
    """How the weights of a model are read."""

    verify_checksum: bool = option(
        "Compare the weights of each model with their checksum before they are used; "
        "--noverify_checksum saves about a second for each gigabyte.",
        True,
        may_change=True,
    )


def obeys_reading_flags(command):
    """A decorator of functions whose first argument is a `ReadingFlags`."""

    @functools.wraps(command)
    def obeying(options, *arguments):
        with checksums.verifying_weights(options.verify_checksum):
            return command(options, *arguments)

    return obeying
