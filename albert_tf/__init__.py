"""ALBERT for TensorFlow 2 and Keras 3: the public API.

Names are resolved on first use, so that a command line or a data worker that
needs one of them does not import all the others. Importing the package changes nothing
in its process, but tells Keras of its classes where Keras is imported already.
"""

import importlib

from albert_tf import optimizers
from albert_tf.families import registry
from albert_tf.io import near_misses

MODELS = (
    "AlbertModel",
    "AlbertForPreTraining",
    "AlbertForTextEmbedding",
    "AlbertForMaskedLM",
    "AlbertForReplacedTokens",
    # Before the classifier of texts, whose names Hugging Face's files have, too: the
    # last one counts where a file does not say what it is of.
    "AlbertForTokenClassification",
    "AlbertForSequenceClassification",
    "AlbertForMultipleChoice",
    "AlbertForQuestionAnswering",
    "AlbertForAnswerableQuestions",
    "XLNetModel",
    "XLNetForTextEmbedding",
    "XLNetLMHeadModel",
    "XLNetForTokenClassification",
    # Before the classifier of texts, as above.
    "XLNetForMultipleChoice",
    "XLNetForSequenceClassification",
    "XLNetForQuestionAnsweringSimple",
    "XLNetForQuestionAnswering",
)
"""The names of the package's models, in the order in which `registry` tries them."""
_CATALOGUE = dict.fromkeys(MODELS, "albert_tf.models.catalogue")
_HOMES = {
    **_CATALOGUE,
    "AlbertConfig": "albert_tf.config",
    "Predictor": "albert_tf.serving.predictor",
    "TextClassifier": "albert_tf.text_classifier",
    "TextEmbedder": "albert_tf.text_embedder",
    "UserError": "albert_tf.errors",
    "XLNetConfig": "albert_tf.families.xlnet_config",
    "load_huggingface_checkpoint": "albert_tf.bundle",
    "load_tf1_checkpoint": "albert_tf.bundle",
    "load_tfhub_variables": "albert_tf.bundle",
    "load_tokenizer": "albert_tf.tokenization",
    "register_model": "albert_tf.families.registry",
}

# The classes that a `.keras` file may name.
_OF_KERAS = {
    **_CATALOGUE,
    **optimizers.MODULES,
    "TaskLoss": "albert_tf.tasks.fitting",
    "TaskAccuracy": "albert_tf.tasks.fitting",
}
registry.add_stand_ins(_OF_KERAS)

__all__ = sorted(_HOMES)
__version__ = "0.2.0"


def __getattr__(name):
    if name == "bundle":
        found = importlib.import_module("albert_tf.bundle")
    elif name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in registry.model_names():
        found = registry.model_class(name)
    else:
        raise AttributeError(near_misses.unknown_attribute("module 'albert_tf'", name))
    registry.add_stand_ins(_OF_KERAS)
    return found


def __dir__():
    return sorted([*globals(), *__all__, *registry.model_names()])
