"""ALBERT for TensorFlow 2 and Keras 3: the public API.

Names are resolved on first use, so that a command line or a data worker that
needs one of them does not import all the others.
"""

import importlib
import os

# Without a GPU, TensorFlow logs errors about drivers that it looked for. It reads this
# when it is first imported; some of its first lines come before it looks.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

_HOMES = {
    "AlbertConfig": "albert_tf.config",
    "AlbertForAnswerableQuestions": "albert_tf.models.question_answering",
    "AlbertForPreTraining": "albert_tf.models.pretraining",
    "AlbertForQuestionAnswering": "albert_tf.models.question_answering",
    "AlbertForSequenceClassification": "albert_tf.models.sequence_classification",
    "AlbertModel": "albert_tf.models.albert",
    "UserError": "albert_tf.errors",
    "load_huggingface_checkpoint": "albert_tf.checkpoints.huggingface",
    "load_tf1_checkpoint": "albert_tf.checkpoints.tf1",
    "load_tfhub_variables": "albert_tf.checkpoints.tf1",
    "load_tokenizer": "albert_tf.tokenization",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'albert_tf' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__():
    return sorted([*globals(), *__all__])
