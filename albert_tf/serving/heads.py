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
from albert_tf.tasks.batching import FEATURES
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION

_GUESSES = 5  # tokens proposed for each [MASK]


@dataclasses.dataclass(frozen=True)
class Head:
    """A model and the functions from its features to the served outputs.

    Attributes:
        name: key in `HEADS`, or `"multi_head"`.
        config: the `AlbertConfig`.
        variables: the Keras variables that are saved.
        compute: maps a dict of features to a dict of named numbers, `[batch, …]`.
        answers: maps those numbers and the features to the served outputs.
        meaning: one line for each output, for the generated documentation.
        pair: whether the input is a pair of texts.
        features: names of the features, int32 `[batch, …]` each.
        along: for each of the numbers whose second axis is that of a feature, the
            name of the feature.
    """

    name: str
    config: AlbertConfig
    variables: list
    compute: typing.Callable
    answers: typing.Callable
    meaning: dict
    pair: bool = False
    features: tuple = FEATURES
    along: dict = dataclasses.field(default_factory=dict)


def classification_head(model_dir, task, tokenizer, **execution):
    """Probabilities and label; see `task_outputs`."""
    return _fine_tuned_head("classification", model_dir, task, execution)


def regression_head(model_dir, task, tokenizer, **execution):
    """The predicted value."""
    return _fine_tuned_head("regression", model_dir, task, execution)


def _fine_tuned_head(name, model_dir, task, execution):
    model = AlbertForSequenceClassification.from_pretrained(model_dir, **execution)
    numbers, answers, meaning = task_outputs(task)

    def compute(features):
        return numbers(model(features, training=False))

    return Head(
        name,
        model.config,
        model.variables,
        compute,
        lambda computed, features: answers(computed),
        meaning,
        task.pair,
    )


def task_outputs(task):
    """How the logits of a `TextTask` are answered.

    Returns:
        A function from float32 logits `[batch, outputs]` to a dict of numbers, one
        from that dict to the answers, and a dict with one line on each of them.
    """
    if task.kind == REGRESSION:
        meaning = {"score": "the predicted value"}
        # [B, 1] -> [B]
        return lambda logits: {"score": logits[:, 0]}, lambda numbers: numbers, meaning
    names = tf.constant(task.labels)
    order = ", ".join(task.labels)
    meaning = {"probabilities": f"probability of each label, in the order {order}"}

    def best_label(numbers):
        best = tf.argmax(numbers["probabilities"], axis=-1)
        return {**numbers, "label": tf.gather(names, best)}

    def all_labels(numbers):
        return {
            **numbers,
            "labels": tf.where(numbers["probabilities"] > 0.5, names, ""),
        }

    if task.kind == MULTI_LABEL:
        meaning["labels"] = "the labels that apply, in that order; others are empty"
        return lambda logits: {"probabilities": tf.sigmoid(logits)}, all_labels, meaning
    meaning["label"] = "the most probable label"
    return lambda logits: {"probabilities": tf.nn.softmax(logits)}, best_label, meaning


def encoder_head(model_dir, task, tokenizer, **execution):
    """The encoder's outputs."""
    model = AlbertModel.from_pretrained(model_dir, **execution)

    def compute(features):
        encoded = model(features, training=False)
        return {name: encoded[name] for name in ("sequence_output", "pooled_output")}

    def answers(numbers, features):
        echoed = ("input_ids", "input_mask")
        return {**numbers, **{name: tf.identity(features[name]) for name in echoed}}

    meaning = {
        "sequence_output": "a vector for each token",
        "pooled_output": "a vector for the whole text",
        "input_ids": "the tokens",
        "input_mask": "1 for tokens, 0 for padding",
    }
    return Head(
        "encoder",
        model.config,
        model.variables,
        compute,
        answers,
        meaning,
        along={"sequence_output": "input_ids"},
    )


def masked_lm_head(model_dir, task, tokenizer, **execution):
    """The most probable tokens in the place of each `[MASK]`."""
    model = AlbertForPreTraining.from_pretrained(model_dir, **execution)
    pieces = tf.constant(tokenizer.pieces)

    def compute(features):
        outputs = model(features, training=False, logits_only=True)
        # The model's vocabulary may be larger than the tokenizer's.
        logits = outputs["masked_lm_logits"][..., : tokenizer.vocab_size]  # [B, P, V]
        probabilities, ids = tf.math.top_k(tf.nn.softmax(logits), _GUESSES)
        asked = tf.expand_dims(features["masked_lm_positions"], 2) > 0  # 0: no [MASK]
        return {
            "token_ids": tf.where(asked, ids, 0),  # [B, P, guesses]
            "probabilities": tf.where(asked, probabilities, 0.0),
        }

    def answers(numbers, features):
        positions = features["masked_lm_positions"]
        asked = tf.expand_dims(positions, 2) > 0  # [B, P, 1]
        tokens = tf.gather(pieces, numbers["token_ids"])  # [B, P, guesses]
        return {
            **numbers,
            "tokens": tf.where(asked, tokens, ""),
            "masked_lm_positions": tf.identity(positions),
        }

    meaning = {
        "tokens": f"the {_GUESSES} best guesses for each [MASK], best first",
        "token_ids": "their ids",
        "probabilities": "their probabilities",
        "masked_lm_positions": "where the [MASK]s are; 0 where a text has fewer",
    }
    return Head(
        "masked_lm",
        model.config,
        model.variables,
        compute,
        answers,
        meaning,
        features=(*FEATURES, "masked_lm_positions"),
        along=dict.fromkeys(("token_ids", "probabilities"), "masked_lm_positions"),
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
