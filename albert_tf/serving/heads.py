"""Answers of models that were not fine-tuned for a task, and their registry.

`register_head` adds a model of your own.
"""

import numpy as np
import tensorflow as tf

from albert_tf.families import registry
from albert_tf.models.text_embedding import text_vectors
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.serving import Head
from albert_tf.tasks.serving import rows_of
from albert_tf.tasks.similarity.serving import TextEmbeddingHead
from albert_tf.tokenization.in_graph.features import MaskedTextFeatures
from albert_tf.tokenization.in_graph.features import TextFeatures
from albert_tf.tokenization.in_graph.features import mark_of

_GUESSES = 5  # tokens proposed for each [MASK]


class EncoderHead(Head):
    """The outputs of an `AlbertModel`; of an `XLNetModel` without a pooled one."""

    name = "encoder"
    along = {"sequence_output": "input_ids"}
    by_token = True

    def _names(self):
        pooled = ("pooled_output",) if hasattr(self.model, "pooler") else ()
        return ("sequence_output", *pooled)

    def numbers(self, outputs):
        return {name: outputs[name] for name in self._names()}

    def answers(self, numbers, features):
        echoed = ("input_ids", "input_mask")
        return {**numbers, **{name: tf.identity(features[name]) for name in echoed}}

    def text_features(self, max_seq_length):
        return TextFeatures(self.tokenizer, max_seq_length, self.layout)

    def meaning(self):
        meaning = {
            "sequence_output": "a vector for each token",
            "pooled_output": "a vector for the whole text",
        }
        return {
            **{name: meaning[name] for name in self._names()},
            "input_ids": "the tokens",
            "input_mask": "1 for tokens, 0 for padding",
        }

    def answer(self, outputs):
        """Returns the vectors, without padding's."""
        tokens = int(np.sum(outputs["input_mask"]))
        pooled = {n: value for n, value in outputs.items() if n == "pooled_output"}
        return {
            **pooled,
            "sequence_output": outputs["sequence_output"][:tokens],
            "input_ids": outputs["input_ids"][:tokens],
        }


class EmbeddingHead(TextEmbeddingHead):
    """A vector for each text: the mean over its tokens, of length 1; of an encoder."""

    pooling, normalize = "mean", True

    def compute(self, features):
        encoded, mask = self.model(features, training=False), features["input_mask"]
        vectors = text_vectors(encoded, mask, self.pooling, normalize=self.normalize)
        return self.numbers(vectors)


class MaskedLMHead(Head):
    """The most probable tokens in the place of each `[MASK]`.

    The model has `best_tokens`, as `AlbertForMaskedLM`, `AlbertForPreTraining` and
    `XLNetLMHeadModel` do.
    """

    name = "masked_lm"
    features = (*FEATURES, "masked_lm_positions")
    along = dict.fromkeys(("token_ids", "probabilities"), "masked_lm_positions")
    by_token = True

    @property
    def example(self):
        """A text with a mark, as the tokenizer reads it."""
        return f"it is a very {mark_of(self.tokenizer)} one ."

    def compute(self, features):
        # [B, P, guesses]
        probabilities, ids = self.model.best_tokens(
            features, _GUESSES, self.tokenizer.vocab_size
        )
        asked = self._asked(features)
        return {
            "token_ids": tf.where(asked, ids, 0),
            "probabilities": tf.where(asked, probabilities, 0.0),
        }

    def _asked(self, features):
        """Returns bool `[B, P, 1]`: there is a [MASK]."""
        positions = tf.expand_dims(features["masked_lm_positions"], 2)
        return positions > self.layout.nowhere

    def answers(self, numbers, features):
        positions, asked = features["masked_lm_positions"], self._asked(features)
        pieces = tf.constant(self.tokenizer.pieces)
        tokens = tf.gather(pieces, numbers["token_ids"])  # [B, P, guesses]
        return {
            **numbers,
            "tokens": tf.where(asked, tokens, ""),
            "masked_lm_positions": tf.identity(positions),
        }

    def text_features(self, max_seq_length):
        return MaskedTextFeatures(self.tokenizer, max_seq_length)

    def meaning(self):
        return {
            "tokens": f"the {_GUESSES} best guesses for each [MASK], best first",
            "token_ids": "their ids",
            "probabilities": "their probabilities",
            "masked_lm_positions": (
                f"where the [MASK]s are; {self.layout.nowhere} where a text has fewer"
            ),
        }

    def answer(self, outputs):
        """Returns the guesses for each [MASK]."""
        names = {
            "token": "tokens",
            "token_id": "token_ids",
            "probability": "probabilities",
        }
        masks = [
            rows_of({name: outputs[name][place] for name in names.values()}, names)
            for place in range(len(outputs["tokens"]))
        ]
        # Where a text has fewer, there is no token.
        return {"masks": [mask for mask in masks if mask[0]["token"]]}


_HEADS = {
    "encoder": (EncoderHead, EmbeddingHead),
    "pretraining": (MaskedLMHead,),
    "masked_lm": (MaskedLMHead,),
}
"""By the `purpose`, or by the name, of a model class, the heads that are no task's."""
_DEFAULTS = {
    "encoder": "encoder",
    "pretraining": "encoder",
    "replaced_tokens": "encoder",
    "masked_lm": "masked_lm",
}
"""The name of the head that a model gets unless another one is asked for."""


def register_head(model_class):
    """Registers a `Head` of your own as a model's answer; a decorator.

    Args:
        model_class: the `PretrainedModel` class, registered with `register_model`.
    """

    def register(head_class):
        own = _HEADS.get(model_class.__name__, ())
        _HEADS[model_class.__name__] = (*own, head_class)
        _DEFAULTS[model_class.__name__] = head_class.name
        return head_class

    return register


def default_head(model_class):
    """Returns the name of a model's own head; None where only a task names one."""
    name = _DEFAULTS.get(model_class.__name__)
    return name or _DEFAULTS.get(model_class.purpose)


def heads_of(model_class):
    """Returns the heads of a checkpoint of a class, without knowing its task.

    These are its own heads, and the heads of models of its family that never get a new
    head, so that random weights are never served.

    Returns:
        By name of the head: the class of the model that is served, and the `Head`.
    """
    found = {}
    # Its own heads count where another model has such, too.
    for model in (*registry.models(model_class.family), model_class):
        may_be_new = model.head_table and model.head_may_be_new
        if model is model_class or not may_be_new:
            heads = _HEADS.get(model.__name__) or _HEADS.get(model.purpose, ())
            found |= {head.name: (model, head) for head in heads}
    return found


def head_named(name):
    """Returns the `Head` class of a name that is not a task's; `Head` for others."""
    heads = (head for heads in _HEADS.values() for head in heads)
    return next((head for head in heads if head.name == name), Head)
