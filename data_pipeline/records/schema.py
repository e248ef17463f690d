"""Schema of a batch of pretraining data: each feature's name, length and type.

Here alone: records are parsed by it, the model is given its inputs, and objectives find
their labels and weights by name (`albert_tf.objectives.masked_lm`).
"""

import dataclasses

import tensorflow as tf

TOKENS, PREDICTIONS, PAIRS, ONE = "tokens", "predictions", "pairs", "one"
"""Lengths of a row of a feature; a batch of one number a row is `[rows]`."""

AN_ID, A_POSITION, A_PAIR = "an id", "a position", "a pair"
"""Bounds of a number: of the vocabulary, of the tokens, of a row's pairs."""


@dataclasses.dataclass(frozen=True)
class Feature:
    """A feature of a batch, `[rows, length]`."""

    name: str
    length: str
    is_input: bool = False
    """True for inputs of the model; all others are labels or their weights."""
    dtype: tf.DType = tf.int32
    largest: str | int = 1
    """The largest number that is allowed, or its kind."""
    record_name: str | None = None
    """Its name in records, if it has another one there."""
    objective: str | None = None
    """The `--sentence_objective` of the data that has it; None: all data has."""


_ALL_ROWS = (
    Feature("input_ids", TOKENS, is_input=True, largest=AN_ID),
    Feature("input_mask", TOKENS, is_input=True),
    Feature("segment_ids", TOKENS, is_input=True),
    Feature("masked_lm_positions", PREDICTIONS, is_input=True, largest=A_POSITION),
    Feature("masked_lm_ids", PREDICTIONS, largest=AN_ID),
    Feature("masked_lm_weights", PREDICTIONS, dtype=tf.float32),
)
FEATURES = {
    "static": (
        *_ALL_ROWS,
        Feature("sentence_order_labels", ONE, record_name="next_sentence_labels"),
    ),
    "packed": (
        *_ALL_ROWS,
        Feature("pair_ids", TOKENS, is_input=True, largest=A_PAIR),
        Feature("cls_positions", PAIRS, is_input=True, largest=A_POSITION),
        Feature("sentence_order_labels", PAIRS),
        Feature("sentence_order_weights", PAIRS, dtype=tf.float32),
    ),
    "permutation": (
        Feature("input_ids", TOKENS, is_input=True, largest=AN_ID),
        Feature("segment_ids", TOKENS, is_input=True, largest=2),
        Feature("word_starts", TOKENS, record_name="token_boundary"),
        Feature("reversed_rows", ONE, is_input=True),
        Feature("stream_starts", ONE),
    ),
}
"""By the kind of records. Dynamic ones become batches as static ones do."""


DRAWN = (
    Feature("query_order", TOKENS, is_input=True),
    Feature("key_order", TOKENS, is_input=True),
    Feature("target_positions", PREDICTIONS, is_input=True),
    Feature("target_ids", PREDICTIONS),
    Feature("target_weights", PREDICTIONS, dtype=tf.float32),
)
"""Further features of batches of permutation records, drawn anew in each epoch."""


def features_of(kind, objective):
    """Returns the `Feature`s of records of a kind and an objective, or None."""
    return [f for f in FEATURES[kind] if f.objective in (None, objective)]


def model_inputs(batch):
    """Selects the features of a batch that the model is given."""
    kinds = (*FEATURES.values(), DRAWN)
    names = {f.name for kind in kinds for f in kind if f.is_input}
    return {name: value for name, value in batch.items() if name in names}
