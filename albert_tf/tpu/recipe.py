"""From a recipe of pretraining to the flags of tpu_check."""

import dataclasses

from albert_tf.errors import UserError
from albert_tf.files import read_json_object
from albert_tf.training.pretraining_options import PretrainingOptions

_LAST_PHASE = "second_phase_"


def recipe_flags(path, options_class):
    """Returns what a recipe of run_pretraining.py says, as flags of another command.

    The lengths are those of the last phase, which are the longest; what the command
    has no flag for is left out.

    Args:
        path: JSON file of flags of pretraining or of the command.
        options_class: the dataclass of the command's flags.

    Raises:
        UserError: the file cannot be read, or sets a flag that neither has.
    """
    values = read_json_object(path)
    values = {k: v for k, v in values.items() if not k.startswith("//")}
    own, pretraining = _names(options_class), _names(PretrainingOptions)
    for name in values:
        if name not in own | pretraining:
            raise UserError(f"--config={path} sets the unknown flag {name!r}.")
    for name in own:
        if f"{_LAST_PHASE}{name}" in values:
            values[name] = values[f"{_LAST_PHASE}{name}"]
    return [f"--{name}={values[name]}" for name in sorted(own & values.keys())]


def _names(options_class):
    return {field.name for field in dataclasses.fields(options_class)}
