"""The models by name.

Loading, conversion, export and the names of the package look models up here, so that
a model is registered once. To add a model to the package, write its class
(see `PretrainedModel` for its declarations) and add its module to `MODULES`. Register a
class outside the package with `register_model`.

`import albert_tf` imports neither Keras nor models. Where Keras is there, each class
that a `.keras` file may name gets a stand-in in Keras' table, which the class itself
takes the place of as soon as its module is imported.
"""

import importlib
import sys

from albert_tf import optimizers
from albert_tf.errors import UserError

# Where the classes are. A module is imported when its class is asked for.
MODULES = {
    "AlbertModel": "albert_tf.models.albert",
    "AlbertForPreTraining": "albert_tf.models.pretraining",
    "AlbertForTextEmbedding": "albert_tf.models.text_embedding",
    "AlbertForMaskedLM": "albert_tf.models.pretraining",
    "AlbertForReplacedTokens": "albert_tf.models.replaced_tokens",
    # Before the classifier of texts, whose names Hugging Face's files have, too: the
    # last one counts where a file does not say what it is of.
    "AlbertForTokenClassification": "albert_tf.models.classification",
    "AlbertForSequenceClassification": "albert_tf.models.classification",
    "AlbertForMultipleChoice": "albert_tf.models.multiple_choice",
    "AlbertForQuestionAnswering": "albert_tf.models.question_answering",
    "AlbertForAnswerableQuestions": "albert_tf.models.question_answering",
    "XLNetModel": "albert_tf.models.xlnet.encoder",
    "XLNetForTextEmbedding": "albert_tf.models.text_embedding",
    "XLNetLMHeadModel": "albert_tf.models.xlnet.language_model",
    "XLNetForTokenClassification": "albert_tf.models.xlnet.fine_tuned",
    # Before the classifier of texts, as above.
    "XLNetForMultipleChoice": "albert_tf.models.xlnet.fine_tuned",
    "XLNetForSequenceClassification": "albert_tf.models.xlnet.fine_tuned",
    "XLNetForQuestionAnsweringSimple": "albert_tf.models.xlnet.question_answering",
    "XLNetForQuestionAnswering": "albert_tf.models.xlnet.question_answering",
}

_REGISTERED = {}  # classes outside the package, by name
# Of the classes that a `.keras` file may name.
_KERAS_MODULES = {
    **MODULES,
    **optimizers.MODULES,
    "TaskLoss": "albert_tf.tasks.fitting",
    "TaskAccuracy": "albert_tf.tasks.fitting",
}


def register_model(model_class: type) -> type:
    """Registers a `PretrainedModel` of your own by its class name; a decorator.

    Loading, conversion and export then treat its checkpoints like the package's. A
    class of the same name replaces the one registered before.

    Raises:
        UserError: the package has a model of that name.
    """
    name = model_class.__name__
    if name in MODULES:
        raise UserError(
            f"albert_tf already has a model {name}; give yours another name."
        )
    _REGISTERED[name] = model_class
    return model_class


def model_names():
    """Lists the names of all models, the package's first."""
    return [*MODULES, *_REGISTERED]


def model_class(name):
    """Returns the model class called `name`.

    Raises:
        UserError: no model has that name.
    """
    # A list, in which one may look for a value of JSON that is no string, too.
    if name not in model_names():
        raise UserError(
            f"There is no model {name!r}; choose from {', '.join(model_names())}, or "
            "register your own with albert_tf.register_model."
        )
    if name in _REGISTERED:
        return _REGISTERED[name]
    return getattr(importlib.import_module(MODULES[name]), name)


def models(family=None):
    """Lists all model classes, or a `ModelFamily`'s."""
    classes = [model_class(name) for name in model_names()]
    return [c for c in classes if family is None or c.family is family]


def families():
    """Lists the `ModelFamily` of each model, once."""
    return list(dict.fromkeys(model.family for model in models()))


def model_of_vectors(family):
    """Returns the class of a `ModelFamily` that gives a vector for each text."""
    return next(model for model in models(family) if model.task_kind == "similarity")


def recognise(tensors, family=None, architectures=()):
    """Returns the model class of a checkpoint.

    It is the one with the most variables of its head in the checkpoint; of several,
    the one that lacks the fewest; of several still, the one that the checkpoint
    names. A checkpoint without a head is of the encoder, which needs none.

    Args:
        tensors: the official names of the checkpoint's tensors.
        family: its `ModelFamily`, or None if that is not known.
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
    """Returns Hugging Face's names of the variables of all heads of a family.

    Args:
        family: a `ModelFamily`.
        architectures: Hugging Face's names of the model in question. Where two models
            give one Hugging Face name to different variables, it comes last.

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
        f"albert_tf>{name}": _StandIn(name, module)
        for name, module in _KERAS_MODULES.items()
    }


class _StandIn:
    """For a class of a module: all that Keras asks of one that it finds in a file."""

    def __init__(self, name, module):
        self._name, self._module = name, module

    def load(self):
        return getattr(importlib.import_module(self._module), self._name)

    def from_config(self, config):
        return self.load().from_config(config)
