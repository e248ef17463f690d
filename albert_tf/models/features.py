"""The features that models read, by the names of this project and of others."""

import collections.abc
import difflib

from albert_tf.errors import UserError

READ = (
    "input_ids",
    "input_mask",
    "segment_ids",
    "pair_ids",
    "cls_positions",
    "masked_lm_positions",
    "p_mask",
    "start_positions",
)
"""Features that models read; see `AlbertModel`, `AlbertForAnswerableQuestions`."""

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
"""What stands beside them in this project's data sets; no model's output needs it."""

ALIASES = {"attention_mask": "input_mask", "token_type_ids": "segment_ids"}
"""Hugging Face's names of features."""


def named_features(inputs, read=READ):
    """The features of a model's call by the names of this project.

    Args:
        inputs: a mapping from names of `read`, `LABELS` and `ALIASES` to tensors, of
            which those that are None count as absent; or the `input_ids` alone.
        read: the names of the features that the model reads.

    Returns:
        A dict; "input_ids" is in it.

    Raises:
        UserError: a name is unknown or stands twice, or "input_ids" is missing.
    """
    if not isinstance(inputs, collections.abc.Mapping):
        return {"input_ids": inputs}
    features = {}
    for given, value in inputs.items():
        name = ALIASES.get(given, given)
        if name not in read and name not in LABELS:
            raise UserError(_unknown(given, read))
        if value is None:
            continue
        if name in features:
            other = next(alias for alias, own in ALIASES.items() if own == name)
            raise UserError(f"{name} and {other} are the same feature; give one.")
        features[name] = value
    if "input_ids" not in features:
        given = ", ".join(map(str, inputs)) or "none"
        raise UserError(f"The features lack input_ids; got {given}.")
    return features


def _unknown(name, read):
    known = (*read, *ALIASES)
    near = difflib.get_close_matches(str(name), known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
    return f"The model has no feature {name!r}; {hint}"
