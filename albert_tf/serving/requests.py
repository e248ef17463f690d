"""Validates requests inside the graph, since a model would answer invalid ones, too.

XLA does not compile these checks, since compiled code cannot raise errors: it clamps an
id out of range to the nearest row of a table. The checks are therefore the same with
every optimization. Servers pass on their error messages.
"""

import tensorflow as tf

from albert_tf.prompts import READ_ONLY
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.served_answers import at_least
from albert_tf.tasks.served_answers import require
from albert_tf.tokenization.in_graph.features import moved_right

MOST_CHARACTERS = 1_000_000
"""Limit on the size of texts read whole; a tiny model needs 1.3 GiB for it."""
MOST_PADDED = 4_000_000
"""Limit on rows times characters of the longest text in a batch of padded answers.

Each character may have an answer of about sixty bytes.
"""


def string_answers(strings, answer):
    """Calls `answer`, which takes strings by name, on strings `[batch, …]`.

    Refuses inputs whose batch sizes differ.
    """
    sizes = [tf.shape(values)[0] for values in strings.values()]
    same = [
        require(tf.equal(size, sizes[0]), f"{' and '.join(strings)} differ in number.")
        for size in sizes[1:]
    ]
    with tf.control_dependencies(same):
        strings = {name: tf.identity(values) for name, values in strings.items()}
    return answer(**strings)


def bounded(answer, name, is_padded):
    """Wraps `answer`, which takes strings by name, to refuse too much text at once.

    Args:
        answer: a function of string tensors `[batch]`.
        name: the name of the strings that are read whole, whatever their length.
        is_padded: whether all rows are padded to the number of answers of the longest.
    """

    def bounded_answer(**strings):
        lengths = tf.strings.length(strings[name], unit="UTF8_CHAR")
        lengths = tf.cast(lengths, tf.int64)
        message = f"{name} has more than {MOST_CHARACTERS} characters in a batch: "
        message += "cut long texts in parts."
        checks = [require(tf.reduce_sum(lengths) <= MOST_CHARACTERS, message)]
        if is_padded:
            longest = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
            message = f"{name} has more than {MOST_PADDED} characters in a batch, "
            message += "all counted as long as the longest: send that alone."
            padded = tf.size(lengths, tf.int64) * longest
            checks.append(require(padded <= MOST_PADDED, message))
        with tf.control_dependencies(checks):
            strings = {name: tf.identity(values) for name, values in strings.items()}
        return answer(**strings)

    return bounded_answer


def token_features(features, served):
    """Validates features `[batch, …, tokens]` by name, and converts them to int32.

    Refuses ids, masks, segments and positions out of range, features of different
    shapes, rows without tokens, more tokens than the model takes, and padding on the
    wrong side if the model reads the last token. An empty batch gets a column, so that
    the model finds a token in it.

    Args:
        features: integer `input_ids`, `input_mask`, `segment_ids`, and others, which
            contain token positions.
        served: the `Served` model.
    """
    config, longest = served.config, served.longest
    includes_prompt = getattr(served.task, "include_prompt", True)
    limits = {
        "input_ids": config.vocab_size,
        "input_mask": 2 if includes_prompt else READ_ONLY + 1,
        # Without segments, the numbers of a pair's texts mean nothing.
        "segment_ids": config.type_vocab_size or 2,
    }
    shape = tf.shape(features["input_ids"])
    rows, tokens = tf.reduce_prod(shape[:-1]), shape[-1]
    checks = [
        require((tokens > 0) | (rows == 0), "input_ids has rows without tokens."),
        require(
            tokens <= longest, f"input_ids has more than {longest} tokens in a row."
        ),
        *_range_checks(features, limits, served.layout.nowhere),
    ]
    if served.layout.pads_left:
        # The model reads the last token.
        ends = tf.reduce_all(features["input_mask"][..., -1:] > 0)
        message = "input_mask must end with 1: pad rows on the left."
        checks.append(require(ends, message))
    with tf.control_dependencies(checks):
        features = {n: tf.cast(tf.identity(v), tf.int32) for n, v in features.items()}
    own = {name: values for name, values in features.items() if name in limits}
    return {**features, **at_least(own, 1)}


def _range_checks(features, limits, nowhere):
    """Checks that features have the shape of the ids and values in range.

    Values must be below the limit for their name; features without a limit contain
    token positions, or `nowhere`.
    """
    shape, checks = tf.shape(features["input_ids"]), []
    for name, values in features.items():
        limit = limits.get(name)
        own = tf.shape(values)
        same = tf.reduce_all(own == shape) if limit else own[0] == shape[0]
        checks.append(require(same, f"{name} has another shape than input_ids."))
        top = tf.maximum(shape[-1], 1) if limit is None else limit
        allowed = f"from 0 to {limit - 1}" if limit else "less than the tokens of a row"
        least = nowhere if limit is None else 0
        inside = (values >= least) & (values < tf.cast(top, values.dtype))
        checks.append(
            require(
                tf.reduce_all(inside), f"{name} must be {allowed}, the padding too."
            )
        )
    return checks


def example_features(examples, served):
    """Parses serialized `tf.Example`s to features, int32 `[batch, tokens]` by name.

    As in a call of the model, the mask and the segments are optional: by default the
    mask is ones and the segments are zeros. Refuses Examples without ids, a mask or
    segments of another length, and what `token_features` refuses; the latter before
    64-bit values are truncated to int32.
    """
    spec = {
        name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
        for name in served.task.features
    }
    parsed = tf.io.parse_example(examples, spec)
    ids = parsed["input_ids"]
    lengths = ids.row_lengths()
    checks = [require(tf.reduce_all(lengths > 0), "An Example has no input_ids.")]
    for name in ("input_mask", "segment_ids"):
        own = parsed[name].row_lengths()
        message = f"{name} of an Example has another length than its input_ids."
        checks.append(require(tf.reduce_all((own == 0) | (own == lengths)), message))
    with tf.control_dependencies(checks):
        lengths = tf.identity(lengths)
    width = tf.reduce_max(tf.concat([lengths, [1]], axis=0))
    features = {
        name: rows.to_tensor(0 if name in FEATURES else served.layout.nowhere)
        for name, rows in parsed.items()
    }
    ones = tf.sequence_mask(lengths, width, dtype=tf.int64)  # [B, T]
    absent = {"input_ids": ones, "input_mask": ones, "segment_ids": ones * 0}
    for name, instead in absent.items():
        given = parsed[name].row_lengths()[:, None] > 0  # [B, 1]
        missing = width - tf.shape(features[name], tf.int64)[1]
        padded = tf.pad(features[name], [[0, 0], [0, missing]])  # [B, T]
        features[name] = tf.where(given, padded, instead)
        if served.layout.pads_left:
            features[name] = moved_right(features[name], lengths[:, None])
    return token_features(features, served)
