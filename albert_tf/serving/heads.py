"""What a served model answers: one builder a task.

A new kind of model is served by adding a builder to `HEADS`.
"""

import dataclasses
import typing

import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.models.albert import AlbertModel
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.models.sequence_classification import AlbertForSequenceClassification
from albert_tf.tasks.datasets import FEATURES
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION

_GUESSES = 5  # tokens proposed for each [MASK]


@dataclasses.dataclass(frozen=True)
class Head:
    """A model and the function from its features to the served outputs.

    Attributes:
        name: key in `HEADS`, or `"multi_head"`.
        config: the `AlbertConfig`.
        variables: the Keras variables that are saved.
        outputs: maps a dict of features to a dict of named output tensors.
        meaning: one line for each output, for the generated documentation.
        pair: whether the input is a pair of texts.
        features: names of the features, int32 `[batch, …]` each.
    """

    name: str
    config: AlbertConfig
    variables: list
    outputs: typing.Callable
    meaning: dict
    pair: bool = False
    features: tuple = FEATURES


def classification_head(model_dir, task, tokenizer):
    """Probabilities and label; see `task_outputs`."""
    return _fine_tuned_head("classification", model_dir, task)


def regression_head(model_dir, task, tokenizer):
    """The predicted value."""
    return _fine_tuned_head("regression", model_dir, task)


def _fine_tuned_head(name, model_dir, task):
    model = AlbertForSequenceClassification.from_pretrained(model_dir)
    answer, meaning = task_outputs(task)

    def outputs(features):
        return answer(model(features, training=False))

    return Head(name, model.config, model.variables, outputs, meaning, task.pair)


def task_outputs(task):
    """How the logits of a `TextTask` are answered.

    Returns:
        A function from float32 logits `[batch, outputs]` to a dict of tensors, and a
        dict with one line on each of them.
    """
    if task.kind == REGRESSION:
        meaning = {"score": "the predicted value"}
        return lambda logits: {"score": logits[:, 0]}, meaning  # [B, 1] -> [B]
    names = tf.constant(task.labels)
    order = ", ".join(task.labels)
    meaning = {"probabilities": f"probability of each label, in the order {order}"}

    def single_label(logits):
        return {
            "probabilities": tf.nn.softmax(logits),
            "label": tf.gather(names, tf.argmax(logits, axis=-1)),
        }

    def multi_label(logits):
        return {
            "probabilities": tf.sigmoid(logits),
            "labels": tf.where(logits > 0, names, ""),
        }

    if task.kind == MULTI_LABEL:
        meaning["labels"] = "the labels that apply, in that order; others are empty"
        return multi_label, meaning
    return single_label, {**meaning, "label": "the most probable label"}


def encoder_head(model_dir, task, tokenizer):
    """The encoder's outputs."""
    model = AlbertModel.from_pretrained(model_dir)

    def outputs(features):
        encoded = model(features, training=False)
        return {
            "sequence_output": encoded["sequence_output"],
            "pooled_output": encoded["pooled_output"],
            "input_ids": tf.identity(features["input_ids"]),
            "input_mask": tf.identity(features["input_mask"]),
        }

    meaning = {
        "sequence_output": "a vector for each token",
        "pooled_output": "a vector for the whole text",
        "input_ids": "the tokens",
        "input_mask": "1 for tokens, 0 for padding",
    }
    return Head("encoder", model.config, model.variables, outputs, meaning)


def masked_lm_head(model_dir, task, tokenizer):
    """The most probable tokens in the place of each `[MASK]`."""
    model = AlbertForPreTraining.from_pretrained(model_dir)
    pieces = tf.constant(tokenizer.pieces)

    def outputs(features):
        logits = model(features, training=False)["masked_lm_logits"]  # [B, P, V]
        probabilities, ids = tf.math.top_k(tf.nn.softmax(logits), _GUESSES)
        positions = features["masked_lm_positions"]
        asked = positions[:, :, None] > 0  # [B, P, 1]; 0 is [CLS], never a [MASK]
        return {
            "tokens": tf.where(asked, tf.gather(pieces, ids), ""),  # [B, P, guesses]
            "token_ids": tf.where(asked, ids, 0),
            "probabilities": tf.where(asked, probabilities, 0.0),
            "masked_lm_positions": tf.identity(positions),
        }

    meaning = {
        "tokens": f"the {_GUESSES} best guesses for each [MASK], best first",
        "token_ids": "their ids",
        "probabilities": "their probabilities",
        "masked_lm_positions": "where the [MASK]s are; 0 where a text has fewer",
    }
    names = (*FEATURES, "masked_lm_positions")
    return Head(
        "masked_lm", model.config, model.variables, outputs, meaning, features=names
    )


HEADS = {
    "classification": classification_head,
    "regression": regression_head,
    "encoder": encoder_head,
    "masked_lm": masked_lm_head,
}


def head_name(task):
    """The head that suits a model with this `TextTask` (None: pretrained only)."""
    if task is None:
        return "encoder"
    return "regression" if task.kind == REGRESSION else "classification"
