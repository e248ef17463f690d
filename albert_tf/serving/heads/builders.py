"""What a served model answers: the builders that models name in `served_forms`.

A builder takes the model, the `Task` that it was fine-tuned for (or None) and the
tokenizer, and returns a `Head`.
"""

import dataclasses
import typing

import tensorflow as tf

from albert_tf.layers.text_vectors import text_vectors
from albert_tf.model_config import ModelConfig
from albert_tf.serving.features.masked_texts import MaskedTextFeatures
from albert_tf.serving.features.texts import TextFeatures
from albert_tf.tasks.batching import FEATURES

_GUESSES = 5  # tokens proposed for each [MASK]


@dataclasses.dataclass(frozen=True)
class Head:
    """A model and the functions from its features to the served outputs.

    Attributes:
        name: the served form of the model, what its `Task` serves, or `"multi_head"`.
        config: the configuration, such as an `AlbertConfig`.
        variables: the Keras variables that are saved.
        compute: maps a dict of features to a dict of named numbers, `[batch, …]`.
        answers: maps those numbers and the features to the served outputs.
        meaning: one line for each output, for the generated documentation.
        text_inputs: names of the strings that the model takes.
        text_lists: those of them of which a row is a list: string `[batch, any]`,
            where an empty string is none.
        optional_inputs: names of strings that a module in memory takes beside them.
        features: names of the features, int32 `[batch, …]` each.
        feature_axes: how many axes each of them has; see `PretrainedModel`.
        along: for each of the numbers whose second axis is that of a feature, the
            name of the feature.
        text_features: makes features of strings: its `of(tokenizer, max_seq_length)`
            returns a module, and an `example` is one string, or a dict of them by name.
        string_answers: where an answer to strings is not that to their features: maps
            the module of `text_features` and a function like `compute` to what maps
            strings to the served outputs.
        longest: tokens of a row at most: the positions of the model or, where it has no
            table of them, what it is served for.
    """

    name: str
    config: ModelConfig
    variables: list
    compute: typing.Callable
    answers: typing.Callable
    meaning: dict
    text_inputs: tuple = ("text",)
    text_lists: tuple = ()
    optional_inputs: tuple = ()
    features: tuple = FEATURES
    feature_axes: int = 2
    along: dict = dataclasses.field(default_factory=dict)
    text_features: typing.Any = TextFeatures
    string_answers: typing.Callable | None = None
    longest: int | None = None

    def feature_specs(self):
        """A `tf.TensorSpec` of any size for each of the features, by name."""
        shape = [None] * self.feature_axes
        return {n: tf.TensorSpec(shape, tf.int32, name=n) for n in self.features}

    def text_specs(self, names=None):
        """A `tf.TensorSpec` of any size for each of the text inputs, by name.

        Args:
            names: of the strings; by default `text_inputs`.
        """
        return {
            name: tf.TensorSpec(
                [None, None] if name in self.text_lists else [None],
                tf.string,
                name=name,
            )
            for name in names or self.text_inputs
        }


def task_head(model, task, tokenizer):
    """What a fine-tuned model answers; its `Task` says what that is."""

    def compute(features):
        return task.served_numbers(model(features, training=False))

    return Head(
        task.serves,
        model.config,
        model.variables,
        compute,
        lambda numbers, features: task.served_answers(numbers),
        task.served_meaning(),
        text_inputs=task.text_inputs,
        optional_inputs=task.optional_inputs,
    )


def encoder_head(model, task, tokenizer):
    """The outputs of an `AlbertModel`."""

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


def embedding_head(model, task, tokenizer):
    """A vector for each text: the mean over its tokens, of length 1; of an encoder."""

    def compute(features):
        encoded = model(features, training=False)
        vectors = text_vectors(encoded, features["input_mask"], "mean", normalize=True)
        return {"embedding": vectors}

    return Head(
        "embedding",
        model.config,
        model.variables,
        compute,
        lambda numbers, features: numbers,
        {"embedding": "a vector of length 1 for the text: the mean over its tokens"},
    )


def masked_lm_head(model, task, tokenizer):
    """The most probable tokens in the place of each `[MASK]`.

    The model has `best_tokens`, as `AlbertForMaskedLM` and `AlbertForPreTraining` do.
    """
    pieces = tf.constant(tokenizer.pieces)

    def compute(features):
        # [B, P, guesses]
        probabilities, ids = model.best_tokens(features, _GUESSES, tokenizer.vocab_size)
        asked = tf.expand_dims(features["masked_lm_positions"], 2) > 0  # 0: no [MASK]
        return {
            "token_ids": tf.where(asked, ids, 0),
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
        text_features=MaskedTextFeatures,
    )
