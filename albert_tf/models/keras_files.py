"""Stand-ins by which Keras finds the classes of this package in files.

`import albert_tf` imports neither Keras nor models. Where Keras is there, each class
that a `.keras` file may name gets a stand-in in Keras' table, which the class itself
takes the place of as soon as its module is imported.
"""

import importlib
import sys

from albert_tf import optimizers
from albert_tf.families.registry import MODULES

_MODULES = {
    **MODULES,
    **optimizers.MODULES,
    "TaskLoss": "albert_tf.tasks.classification.compiling",
    "TaskAccuracy": "albert_tf.tasks.classification.compiling",
}


def add_stand_ins():
    """Adds the stand-ins to Keras' table, if Keras is imported."""
    # A module that is being imported has no contents yet.
    saving = getattr(sys.modules.get("keras"), "saving", None)
    if saving is None:
        return
    known = saving.get_custom_objects()
    for name, stand_in in stand_ins().items():
        known.setdefault(name, stand_in)


def stand_ins():
    """Makes a stand-in for each class, by the name under which Keras registers it."""
    return {
        f"albert_tf>{name}": _StandIn(name, module) for name, module in _MODULES.items()
    }


class _StandIn:
    """For a class of a module: all that Keras asks of one that it finds in a file."""

    def __init__(self, name, module):
        self._name, self._module = name, module

    def load(self):
        return getattr(importlib.import_module(self._module), self._name)

    def from_config(self, config):
        return self.load().from_config(config)
