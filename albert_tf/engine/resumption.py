"""The identity of a run, which decides whether it may continue from checkpoints."""

import dataclasses
import hashlib
import json

import numpy as np
from absl import logging

from albert_tf.errors import UserError
from albert_tf.hub.downloads import shown

UNKNOWN = object()
"""An unknown value, which equals every other value."""

RESTART_DATA = "restart_data"
"""The flag that lets a run continue with other data, from its beginning."""


@dataclasses.dataclass(frozen=True)
class IdentityEntry:
    """One part of a run's identity: a flag, or the content of what a flag names."""

    name: str
    """The key in the record; for a flag, the flag's name."""
    value: object
    """A JSON value, or `UNKNOWN`."""
    label: str
    """The name in errors, before "is": `--train_batch_size`."""
    may_change: bool | str = False
    """True if the value may change when a run continues; or `RESTART_DATA`: with it."""
    default: object = UNKNOWN
    """The value in runs stored before this entry existed."""
    earlier: dict = dataclasses.field(default_factory=dict)
    """Equivalent values that earlier versions stored, mapped to warnings."""
    content: str = ""
    """For a path, the name of the entry with its content: the path may change if the
    content is the same."""


def flag_identity(options, **contents):
    """Makes the `IdentityEntry`s of a dataclass of `option`s; `contents` by flag."""
    return tuple(
        IdentityEntry(
            field.name,
            getattr(options, field.name),
            f"--{field.name}",
            field.metadata["may_change"],
            UNKNOWN if field.default is dataclasses.MISSING else field.default,
            content=contents.get(field.name, ""),
        )
        for field in dataclasses.fields(options)
    )


def teacher_identity(model):
    """Makes the `IdentityEntry` for a teacher's weights; `model` may be None."""
    fingerprint = None
    if model is not None:
        about = [type(model).__name__, model.config.to_dict(), model.head_config()]
        digest = hashlib.sha256(json.dumps(about).encode())
        for name, variable in model.official_variables().items():
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(variable).tobytes())
        fingerprint = digest.hexdigest()
    label = "The fingerprint of the weights of --teacher"
    return IdentityEntry("teacher_weights", fingerprint, label, default=None)


def stored_values(identity):
    """Returns the values of `IdentityEntry`s as a JSON dict to store."""
    return {entry.name: entry.value for entry in identity if entry.value is not UNKNOWN}


def check_identity(identity, earlier, directory):
    """Refuses to continue a run whose identity has changed.

    Args:
        identity: the run's current `IdentityEntry`s, including its flags.
        earlier: the `stored_values` of the run so far.
        directory: the run's folder, for the message.

    Raises:
        UserError: an entry that must not change has changed; the message names it and
            both values.
    """
    set_flags = {entry.name for entry in identity if entry.value is True}
    same = {entry.name for entry in identity if earlier.get(entry.name) == entry.value}
    for entry in identity:
        if entry.may_change is True or entry.may_change in set_flags:
            continue
        before = _as_stored(earlier.get(entry.name, entry.default))
        now = _as_stored(entry.value)
        if UNKNOWN in (before, now) or before == now:
            continue
        if entry.content in same:
            continue
        if isinstance(before, str) and before in entry.earlier:
            logging.warning("The run in %s: %s.", directory, entry.earlier[before])
            continue
        allowed = ""
        if entry.may_change == RESTART_DATA:
            allowed = f", pass --{RESTART_DATA} to read the data from its beginning"
        raise UserError(
            f"{entry.label} is {_shown(now)}, but the run in {directory} has "
            f"{_shown(before)}; go on with that{allowed}, or choose another "
            "--output_dir."
        )


def _as_stored(value):
    """Normalises a value as JSON does, which turns tuples into lists."""
    return UNKNOWN if value is UNKNOWN else json.loads(json.dumps(value))


def _shown(value):
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return "not set" if value is None else shown(str(value))
