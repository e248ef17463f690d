"""The registry of models by name.

Loading, conversion, export and the package's namespace look models up here. Each class
registers itself with `register_model`; the package's are imported on first use.
"""

import importlib
import sys

import albert_tf
from albert_tf.errors import UserError

_MODELS = {}  # the classes by name


def register_model(model_class: type) -> type:
    """Registers a `PretrainedModel` by its class name; a decorator.

    Loading, conversion and export then treat its checkpoints like the package's. A
    class of the same name replaces the one registered before.

    Raises:
        UserError: the package already has a model of that name.
    """
    name = model_class.__name__
    is_ours = model_class.__module__.startswith("albert_tf.")
    if name in albert_tf.MODELS and not is_ours:
        raise UserError(
            f"albert_tf already has a model {name}; give yours another name."
        )
    _MODELS[name] = model_class
    return model_class


def model_names():
    """Lists the names of all models, the package's first."""
    return [*albert_tf.MODELS, *(n for n in _MODELS if n not in albert_tf.MODELS)]


def model_class(name):
    """Returns the model class called `name`.

    Raises:
        UserError: no model has that name.
    """
    # `model_names()` is a list because a JSON value may be unhashable.
    if name not in model_names():
        raise UserError(
            f"There is no model {name!r}; choose from {', '.join(model_names())}, or "
            "register your own with albert_tf.register_model."
        )
    return _MODELS.get(name) or getattr(albert_tf, name)


def models(family=None):
    """Lists all model classes, or only those of a `ModelFamily`."""
    classes = map(model_class, model_names())
    return [c for c in classes if family is None or c.family is family]


def families():
    """Lists the distinct `ModelFamily`s of all models."""
    return list(dict.fromkeys(model.family for model in models()))


def model_for(purpose, family=None):
    """Returns the first class with a `purpose`, in `family` if it has one.

    A class of another family is returned otherwise; `Bundle.check_family` refuses it.
    """
    found = [model for model in models() if model.purpose == purpose]
    return next((model for model in found if model.family is family), found[0])


def recognise(tensors, family=None, architectures=()):
    """Returns the model class of a checkpoint.

    It is the class with the most head variables in the checkpoint; on a tie, the one
    that lacks the fewest; on another tie, the one that the checkpoint names. A
    checkpoint without a head gives the encoder.

    Args:
        tensors: the official names of the checkpoint's tensors.
        family: its `ModelFamily`, or None if unknown.
        architectures: Hugging Face's names of the model.
    """

    def fit(model):
        names = model.head_names()
        held = sum(name in tensors for name in names)
        return (
            held,
            held - len(names),
            model.huggingface_architecture() in architectures,
        )

    return max(models(family), key=fit)


def head_names(family, architectures=()):
    """Returns Hugging Face's names of all head variables in a family.

    Args:
        family: a `ModelFamily`.
        architectures: Hugging Face's names of the model to read, which comes last and
            so wins if two models use one Hugging Face name for different variables.

    Returns:
        A dict by official name; None where Hugging Face has no such variable.
    """

    def is_named(model):
        return model.huggingface_architecture() in architectures

    names = {}
    for model in sorted(models(family), key=is_named):
        own = model.head_names()
        names = {name: names[name] for name in names if name not in own} | own
    return names


def add_stand_ins(modules):
    """Adds stand-ins to Keras' table of classes, if Keras is imported.

    With them, Keras finds a class that a `.keras` file names before anything has
    imported it; on import, the class replaces its stand-in.

    Args:
        modules: dict from the name of each class to its module.
    """
    # A module that is still being imported has no attributes yet.
    saving = getattr(sys.modules.get("keras"), "saving", None)
    if saving is None:
        return
    known = saving.get_custom_objects()
    for name, module in modules.items():
        known.setdefault(f"albert_tf>{name}", _StandIn(name, module))


class _StandIn:
    """A stand-in for a class, with what Keras asks of a class named in a file."""

    def __init__(self, name, module):
        self._name, self._module = name, module

    def load(self):
        return getattr(importlib.import_module(self._module), self._name)

    def from_config(self, config):
        return self.load().from_config(config)
