"""ALBERT for TensorFlow 2 and Keras 3: the public API.

Names are imported on first use, so that a command line or a data worker imports only
what it needs. Importing the package has no side effects, except that it registers its
classes with Keras if Keras is already imported.
"""

import importlib

from albert_tf import optimizers
from albert_tf.families import registry
from albert_tf.io import near_misses

MODELS = {
    "AlbertModel": "albert_tf.models.albert",
    "AlbertForPreTraining": "albert_tf.models.pretraining",
    "AlbertForTextEmbedding": "albert_tf.models.text_embedding",
    "AlbertForMaskedLM": "albert_tf.models.pretraining",
    "AlbertForReplacedTokens": "albert_tf.models.replaced_tokens",
    # Before the text classifier, whose head has the same tensor names in Hugging Face
    # files: if a file does not name its model, the last match wins.
    "AlbertForTokenClassification": "albert_tf.models.classification",
    "AlbertForSequenceClassification": "albert_tf.models.classification",
    "AlbertForMultipleChoice": "albert_tf.models.classification",
    "AlbertForQuestionAnswering": "albert_tf.models.question_answering",
    "AlbertForAnswerableQuestions": "albert_tf.models.question_answering",
    "XLNetModel": "albert_tf.xlnet.model",
    "XLNetForTextEmbedding": "albert_tf.xlnet.heads",
    "XLNetLMHeadModel": "albert_tf.xlnet.model",
    "XLNetForTokenClassification": "albert_tf.xlnet.heads",
    # Before the text classifier, as above.
    "XLNetForMultipleChoice": "albert_tf.xlnet.heads",
    "XLNetForSequenceClassification": "albert_tf.xlnet.heads",
    "XLNetForQuestionAnsweringSimple": "albert_tf.xlnet.heads",
    "XLNetForQuestionAnswering": "albert_tf.xlnet.heads",
}
"""Maps each model's name to its module, in the order in which `registry` tries them.

Importing a module registers its models."""
CONFIGS = {
    "AlbertConfig": "albert_tf.config",
    "XLNetConfig": "albert_tf.xlnet.config",
}
"""The module of each architecture's configuration."""
_HOMES = {
    **MODELS,
    **CONFIGS,
    "Predictor": "albert_tf.serving.predictor",
    "Reranker": "albert_tf.reranker",
    "SearchIndex": "albert_tf.search_index",
    "TextClassifier": "albert_tf.text_classifier",
    "TextEmbedder": "albert_tf.text_embedder",
    "UserError": "albert_tf.errors",
    "load_huggingface_checkpoint": "albert_tf.checkpoints.huggingface",
    "load_tf1_checkpoint": "albert_tf.checkpoints.tf1",
    "load_tfhub_variables": "albert_tf.checkpoints.tf1",
    "load_tokenizer": "albert_tf.tokenization",
    "register_model": "albert_tf.families.registry",
}

# The classes that a `.keras` file may refer to.
_OF_KERAS = {
    **MODELS,
    **optimizers.MODULES,
    "TaskLoss": "albert_tf.tasks.fitting",
    "TaskAccuracy": "albert_tf.tasks.fitting",
}
registry.add_stand_ins(_OF_KERAS)

__all__ = sorted(_HOMES)
__version__ = "0.3.0"


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
