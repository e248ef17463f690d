"""Serving-only tasks, for models that were not fine-tuned for a task.

`register_answers` adds one for a model of your own.
"""

import dataclasses
import typing

import numpy as np
import tensorflow as tf

from albert_tf.families import registry
from albert_tf.models.text_embedding import text_vectors
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.served_answers import rows_of
from albert_tf.tasks.similarity.task import Similarity
from albert_tf.tasks.task import Task
from albert_tf.tokenization.in_graph.features import MaskedTextFeatures
from albert_tf.tokenization.in_graph.features import mark_of

_GUESSES = 5  # tokens per [MASK]


class EncoderOutputs(Task):
    """The outputs of an `AlbertModel`; an `XLNetModel` lacks the pooled one."""

    serves = "encoder"
    along = {"sequence_output": "input_ids"}
    by_token = True

    def numbers(self, outputs):
        names = ("sequence_output", "pooled_output")
        return {name: outputs[name] for name in names if name in outputs}

    def answers(self, numbers, features):
        echoed = ("input_ids", "input_mask")
        return {**numbers, **{name: tf.identity(features[name]) for name in echoed}}

    def meaning(self):
        return {
            "sequence_output": "a vector for each token",
            "pooled_output": "a vector for the whole text",
            "input_ids": "the tokens",
            "input_mask": "1 for tokens, 0 for padding",
        }

    def answer(self, outputs):
        """Returns the vectors without padding."""
        tokens = int(np.sum(outputs["input_mask"]))
        pooled = {n: value for n, value in outputs.items() if n == "pooled_output"}
        return {
            **pooled,
            "sequence_output": outputs["sequence_output"][:tokens],
            "input_ids": outputs["input_ids"][:tokens],
        }


class MeanVectors(Similarity):
    """A unit vector for each text: the mean over an encoder's tokens."""

    kind = None

    def compute(self, model, features, exit_rule=None):
        encoded, mask = model(features, training=False), features["input_mask"]
        return self.numbers(text_vectors(encoded, mask, "mean", normalize=True))


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskedWords(Task):
    """The most probable tokens at each `[MASK]`.

    The model must have a method `best_tokens`, as `AlbertForMaskedLM`,
    `AlbertForPreTraining` and `XLNetLMHeadModel` do.

    Attributes:
        tokenizer: the model's; None if only `answer` is needed.
    """

    tokenizer: typing.Any = None

    serves = "masked_lm"
    features = (*FEATURES, "masked_lm_positions")
    along = dict.fromkeys(("token_ids", "probabilities"), "masked_lm_positions")
    by_token = True

    @property
    def example(self):
        """A text with the tokenizer's mask token."""
        return f"it is a very {mark_of(self.tokenizer)} one ."

    @property
    def _nowhere(self):
        """The position that no [MASK] has."""
        return self.row_layout(self.tokenizer).nowhere

    def compute(self, model, features, exit_rule=None):
        vocab_size = self.tokenizer.vocab_size
        # [B, P, guesses]
        probabilities, ids = model.best_tokens(features, _GUESSES, vocab_size)
        asked = self._asked(features)
        return {
            "token_ids": tf.where(asked, ids, 0),
            "probabilities": tf.where(asked, probabilities, 0.0),
        }

    def _asked(self, features):
        """Returns bool `[B, P, 1]`: whether there is a [MASK]."""
        return tf.expand_dims(features["masked_lm_positions"], 2) > self._nowhere

    def answers(self, numbers, features):
        positions, asked = features["masked_lm_positions"], self._asked(features)
        pieces = tf.constant(self.tokenizer.pieces)
        tokens = tf.gather(pieces, numbers["token_ids"])  # [B, P, guesses]
        return {
            **numbers,
            "tokens": tf.where(asked, tokens, ""),
            "masked_lm_positions": tf.identity(positions),
        }

    def text_features(self, tokenizer, max_seq_length):
        return MaskedTextFeatures(tokenizer, max_seq_length)

    def meaning(self):
        return {
            "tokens": f"the {_GUESSES} best guesses for each [MASK], best first",
            "token_ids": "their ids",
            "probabilities": "their probabilities",
            "masked_lm_positions": (
                f"where the [MASK]s are; {self._nowhere} where a text has fewer"
            ),
        }

    def answer(self, outputs):
        """Returns the best tokens for each [MASK]."""
        names = {
            "token": "tokens",
            "token_id": "token_ids",
            "probability": "probabilities",
        }
        masks = [
            rows_of({name: outputs[name][place] for name in names.values()}, names)
            for place in range(len(outputs["tokens"]))
        ]
        # Texts with fewer masks have no tokens here.
        return {"masks": [mask for mask in masks if mask[0]["token"]]}


_ANSWERS = {
    "encoder": ("encoder", EncoderOutputs, MeanVectors),
    "pretraining": ("encoder", MaskedWords),
    "replaced_tokens": ("encoder",),
    "masked_lm": ("masked_lm", MaskedWords),
}
"""By the `purpose`, or by the name, of a model class: the name of its usual answer, and
its tasks that only serve."""


def register_answers(model_class):
    """Registers a `Task` of your own that serves a model; a decorator.

    Args:
        model_class: a `PretrainedModel` class registered with `register_model`.
    """

    def register(task_class):
        _, *own = _ANSWERS.get(model_class.__name__, (None,))
        _ANSWERS[model_class.__name__] = (task_class.serves, *own, task_class)
        return task_class

    return register


def _answers(model_class):
    own = _ANSWERS.get(model_class.__name__)
    return own or _ANSWERS.get(model_class.purpose, (None,))


def usual_answer(model_class):
    """Returns the name of a model's default answer; None if it needs a task."""
    return _answers(model_class)[0]


def answers_of(model_class):
    """Returns the answers that a checkpoint of a class can give without a task.

    These are the answers of the class, and of models of its family whose head is never
    new, so that random weights are never served.

    Returns:
        A dict by the name of the answer: the model class to serve, and the `Task`
        class.
    """
    found = {}
    # The class's own answers take precedence over other models'.
    for model in (*registry.models(model_class.family), model_class):
        may_be_new = model.head_table and model.head_may_be_new
        if model is model_class or not may_be_new:
            _, *tasks = _answers(model)
            found |= {task.serves: (model, task) for task in tasks}
    return found


def answers_named(name, tokenizer=None):
    """Returns the serving-only `Task` of a name; else one that returns raw outputs."""
    tasks = (task for _, *tasks in _ANSWERS.values() for task in tasks)
    task_class = next((task for task in tasks if task.serves == name), Task)
    return bound(task_class, tokenizer)


def bound(task_class, tokenizer):
    """Makes a serving-only `Task`, with the tokenizer if it needs one."""
    fields = {field.name for field in dataclasses.fields(task_class)}
    own = {"tokenizer": tokenizer} if "tokenizer" in fields else {}
    return task_class(name=task_class.serves, **own)
