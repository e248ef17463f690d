"""Recipes of pretraining as flags of tpu_check."""

import dataclasses

from albert_tf.cli.command_line import config_file_values
from albert_tf.errors import UserError
from albert_tf.pretraining.data_flags import SECOND
from albert_tf.pretraining.flags import PretrainingOptions


def recipe_values(path, options_class):
    """Returns the values of a recipe of run_pretraining.py for another command.

    The lengths are the last phase's, which are the longest; values without a flag of
    the command are left out.

    Args:
        path: JSON file of flags of pretraining or of the command.
        options_class: the dataclass of the command's flags.

    Returns:
        A dict of values by the names of their flags.

    Raises:
        UserError: as `config_file_values`, or a recipe of XLNet, which the command
            does not compile.
    """
    values = config_file_values(path, PretrainingOptions, options_class)
    if values.get("objective", "masked_lm") != "masked_lm":
        raise UserError(
            f"{path} trains XLNet (--objective={values['objective']}), but tpu_check "
            "compiles the training step of ALBERT only; name a recipe of ALBERT."
        )
    for name in [name for name in values if name.startswith(SECOND)]:
        values[name.removeprefix(SECOND)] = values[name]
    own = {field.name for field in dataclasses.fields(options_class)}
    return {name: value for name, value in values.items() if name in own}
