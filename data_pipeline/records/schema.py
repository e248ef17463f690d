"""Schema of a batch of pretraining data: each feature's name, length and type.

The schema determines how records are parsed and which features the model gets;
objectives find their labels and weights by name
(`albert_tf.objectives.masked_lm`).
"""

import dataclasses
import re

import tensorflow as tf

LARGEST_INT32 = 2**31 - 1
_IDS = ("input_ids", "masked_lm_ids")
_VALUE = r"\[([^\]]*)\]"
_FAILED = re.compile(rf"\[range (.+) 0 (\d+)\] {_VALUE} {_VALUE}")
TOKENS, PREDICTIONS, PAIRS, ONE = "tokens", "predictions", "pairs", "one"
"""Lengths of a feature's rows; a batch with one number per row is `[rows]`."""
AN_ID, A_POSITION, A_PAIR = "an id", "a position", "a pair"
"""Bounds of a number: the vocabulary, the tokens, or a row's pairs."""


def within(name, values, highest):
    """Returns numbers of any shape unchanged, if all lie between 0 and a bound.

    Args:
        name: their name in errors.
        values: int64 or float32 tensor.
        highest: int, the bound, which is allowed itself.

    Returns:
        `values`, as int32 if they are int64.

    Raises:
        tf.errors.InvalidArgumentError: a number is outside, or is none; see
            `sentence_on`. In a graph, the reader of the result gets the error.
    """
    in_range = tf.reduce_all((values >= 0) & (values <= highest))
    found = [tf.reduce_min(values), tf.reduce_max(values)]
    # Not `tf.debugging.Assert`, which words its error in another way outside a graph.
    check = tf.raw_ops.Assert(
        condition=in_range, data=[f"range {name} 0 {highest}", *found]
    )
    with tf.control_dependencies([] if check is None else [check]):
        values = tf.identity(values)
    return tf.cast(values, tf.int32) if values.dtype == tf.int64 else values


def sentence_on(input_file, error):
    """Explains an error of reading records in one sentence for users.

    Args:
        input_file: the files that were read.
        error: the error of reading them: a `tf.errors.OpError`, or the
            `UnicodeDecodeError` that TensorFlow makes of the contents of a record
            which is no example.

    Returns:
        A str; None for an error of something else.
    """
    if isinstance(error, UnicodeDecodeError):
        return (
            f"{input_file} holds a record that is not an example; a file is damaged "
            "or of another kind: make it again."
        )
    match = _FAILED.search(str(error))
    if match is None:
        return None
    name, highest, smallest, largest = match.groups()
    number = largest if float(smallest) >= 0 else smallest
    if name in _IDS:
        return (
            f"{input_file} holds the id {number}, but the model has vocab_size "
            f"{int(highest) + 1} (ids 0 to {highest}); make the data with the model's "
            "vocabulary."
        )
    return (
        f"{input_file} holds {name} of {number}, expected 0 to {highest}; a "
        "file is damaged, or was made for something else: make it again."
    )


@dataclasses.dataclass(frozen=True)
class Feature:
    """A feature of a batch, `[rows, length]`."""

    name: str
    length: str
    is_input: bool = False
    """True for the model's inputs; other features are labels or their weights."""
    dtype: tf.DType = tf.int32
    largest: str | int = 1
    """The largest number that is allowed, or its kind."""
    record_name: str | None = None
    """The name in records, if it differs."""
    objective: str | None = None
    """The `--sentence_objective` whose data has this feature; None for all data."""


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
"""Features by kind of record. Dynamic records give the same batches as static ones."""


DRAWN = (
    Feature("query_order", TOKENS, is_input=True),
    Feature("key_order", TOKENS, is_input=True),
    Feature("target_positions", PREDICTIONS, is_input=True),
    Feature("target_ids", PREDICTIONS),
    Feature("target_weights", PREDICTIONS, dtype=tf.float32),
)
"""Further features of batches of permutation records, drawn anew in each epoch."""


def model_inputs(batch):
    """Selects the features of a batch that are inputs of the model."""
    kinds = (*FEATURES.values(), DRAWN)
    names = {f.name for kind in kinds for f in kind if f.is_input}
    return {name: value for name, value in batch.items() if name in names}
