"""ALBERT for TensorFlow 2 and Keras 3: the public API.

Names are resolved on first use, so that a command line or a data worker that
needs one of them does not import all the others. Importing the package changes nothing
in its process, but tells Keras of its classes where Keras is imported already.
"""

import importlib

from albert_tf.families import registry
from albert_tf.io import near_misses

registry.add_stand_ins()

_HOMES = {
    "AlbertConfig": "albert_tf.config",
    "Predictor": "albert_tf.serving.predictor",
    "TextClassifier": "albert_tf.text_classifier",
    "TextEmbedder": "albert_tf.text_embedder",
    "UserError": "albert_tf.errors",
    "XLNetConfig": "albert_tf.families.xlnet_config",
    "load_huggingface_checkpoint": "albert_tf.checkpoints.huggingface",
    "load_tf1_checkpoint": "albert_tf.checkpoints.tf1",
    "load_tfhub_variables": "albert_tf.checkpoints.tf1",
    "load_tokenizer": "albert_tf.tokenization",
    "register_model": "albert_tf.families.registry",
}

__all__ = sorted([*_HOMES, *registry.model_names()])
__version__ = "0.2.0"


def __getattr__(name):
    if name in registry.model_names():
        found = registry.model_class(name)
    elif name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(near_misses.of_module(name))
    registry.add_stand_ins()
    return found


def __dir__():
    return sorted([*globals(), *__all__])
