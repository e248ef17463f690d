"""The features that models read: this project's names, and aliases."""

import collections.abc
import functools

import keras
import numpy as np
from keras import ops

from albert_tf.errors import UserError
from albert_tf.io.near_misses import close_name
from albert_tf.io.processes import check_process
from albert_tf.row_layout import FEATURES

READ = (
    *FEATURES,
    "pair_ids",
    "cls_positions",
    "masked_lm_positions",
    "p_mask",
    "start_positions",
)
"""Features that models read: see `AlbertModel` and `AlbertForAnswerableQuestions`."""

LABELS = (
    "labels",
    "masked_lm_ids",
    "masked_lm_weights",
    "sentence_order_labels",
    "sentence_order_weights",
    "example_weights",
    "end_positions",
    "is_impossible",
)
"""Labels in this project's data sets; no model's output needs them."""

ALIASES = {
    "attention_mask": "input_mask",
    "token_type_ids": "segment_ids",
    "token_ids": "input_ids",
    "padding_mask": "input_mask",
}
"""This project's names of features, by their names in transformers and keras-hub."""


_OUTPUT_ALIASES = {
    "last_hidden_state": "sequence_output",
    "pooler_output": "pooled_output",
    "prediction_logits": "masked_lm_logits",
    "sop_logits": "sentence_order_logits",
}


class NamedOutputs(dict):
    """A dict of outputs that are also attributes, under transformers' names, too."""

    def __getattr__(self, name):
        try:
            return self[_OUTPUT_ALIASES.get(name, name)]
        except KeyError:
            raise AttributeError(
                f"The model returns no {name!r}; it returns {', '.join(self)}"
            ) from None


def named_outputs(outputs):
    """Wraps a dict in `NamedOutputs`; gives a logits tensor an attribute `logits`."""
    if isinstance(outputs, dict):
        return NamedOutputs(outputs)
    # A copy: a tensor that refers to itself would wait for the garbage collector.
    outputs.logits = ops.copy(outputs)
    return outputs


def named_features(inputs, read=READ):
    """Returns the features of a model's call by this project's names.

    Args:
        inputs: a mapping from names of `read`, `LABELS` and `ALIASES` to tensors, or to
            None for absent ones; or the `input_ids` alone.
        read: the names of the features that the model reads.

    Returns:
        A dict with at least "input_ids".

    Raises:
        UserError: a name is unknown or given twice, or "input_ids" is missing.
    """
    if not isinstance(inputs, collections.abc.Mapping):
        return {"input_ids": inputs}
    features = {}
    for given, value in inputs.items():
        name = ALIASES.get(given, given)
        if name not in read and name not in LABELS:
            known = (*read, *ALIASES)
            near = close_name(str(given), known)
            hint = f"it takes {', '.join(known)}."
            hint = f"did you mean {near!r}?" if near else hint
            raise UserError(f"The model has no feature {given!r}; {hint}")
        if value is None:
            continue
        if name in features:
            same = [n for n in inputs if ALIASES.get(n, n) == name]
            raise UserError(f"{' and '.join(same)} are the same feature; give one.")
        features[name] = value
    if "input_ids" not in features:
        given = ", ".join(map(str, inputs)) or "none"
        raise UserError(f"The features lack input_ids; got {given}.")
    return features


def mask_of(features):
    """Returns the `input_mask` of `named_features`: ones if it is absent."""
    mask = features.get("input_mask")
    return ops.ones_like(features["input_ids"]) if mask is None else mask


def called_features(args, named):
    """Moves features given by name into the first argument of a call.

    Args:
        args: positional arguments: features, `input_ids` or nothing.
        named: dict of keyword arguments, from which features are removed.

    Returns:
        The positional arguments.

    Raises:
        UserError: texts in place of ids.
    """
    features = {k: named.pop(k) for k in (*READ, *LABELS, *ALIASES) if k in named}
    if features:
        first = args[0] if args else {}
        if not isinstance(first, collections.abc.Mapping):
            first = {"input_ids": first}
        args = ({**first, **features}, *args[1:])
    if args:
        refuse_texts(args[0])
    return args


def refuse_texts(inputs):
    """Raises a `UserError` with the right calls if the first value is a text."""
    value = inputs
    while isinstance(value, list | tuple | collections.abc.Mapping) and value:
        value = next(iter(value.values() if hasattr(value, "values") else value))
    kind = getattr(getattr(value, "dtype", None), "name", "")
    if isinstance(value, str | bytes) or kind.startswith(("str", "bytes", "object")):
        raise UserError(
            "The model takes ids of tokens, not texts: call model(tokenizer(texts)), "
            "or use albert_tf.TextClassifier, or albert_tf.Predictor(model, tokenizer)."
        )


def check_ranges(config, inputs):
    """Refuses ids and positions outside the model's tables.

    A graph has no values to check: there an id of -1 counts from the end of a table,
    and other ids out of range give zeros.

    Args:
        config: the model's.
        inputs: see `named_features`; symbolic tensors pass.

    Raises:
        UserError: a value is out of range; the message names the feature and value.
    """
    if not isinstance(inputs, collections.abc.Mapping):
        inputs = {"input_ids": inputs}
    values = {
        ALIASES.get(name, name): value
        for name, value in inputs.items()
        if (isinstance(value, np.ndarray) and value.dtype.kind in "iuf")
        or type(value).__name__ == "EagerTensor"
    }
    most = {"input_ids": config.vocab_size}
    if config.max_position_embeddings is not None and config.type_vocab_size > 1:
        most["segment_ids"] = config.type_vocab_size
    for tokens in np.shape(values.get("input_ids", 0))[-1:]:
        most |= dict.fromkeys(("masked_lm_positions", "cls_positions"), tokens)
    for name in most.keys() & values.keys():
        found = np.asarray(values[name])
        least = config.row_layout.nowhere if name.endswith("positions") else 0
        is_wrong = (found < least) | (found >= most[name])
        if is_wrong.any():
            raise UserError(
                f"{name} holds {found[is_wrong][0]}; the model takes {least} to "
                f"{most[name] - 1}."
            )


def refusing_texts(name):
    """Wraps a method of `keras.Model` to refuse texts and ids out of range."""
    method = getattr(keras.Model, name)

    @functools.wraps(method)
    def call(self, x=None, *args, **kwargs):
        check_process()
        refuse_texts(x)
        if isinstance(x, np.ndarray | collections.abc.Mapping):
            check_ranges(self.config, x)
        return method(self, x, *args, **kwargs)

    return call
