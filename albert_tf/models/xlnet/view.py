"""Masks and positions of XLNet's attention: its inputs beside the hidden states.

The queries of both streams stand in one tensor: the content stream, `[batch, S]`, and
after it the query stream, `[batch, P]`. The keys are the memory, `[batch, M]`, and the
content. Q is S + P, K is M + S.
"""

import dataclasses
import functools
import operator
import typing

from keras import ops

from albert_tf.layers.view import gather_positions


@dataclasses.dataclass(frozen=True)
class AttentionView:
    """Inputs of `RelativeAttention`.

    Attributes:
        tokens: S, an int or int32 scalar.
        codes: see `positions.project_codes`.
        directions: see there.
        memories: float32 `[batch, blocks, M, width]`, or None.
        positions: int32 `[batch, Q]`, the queries' places in the segment.
        answers: float32 `[batch, Q, 1]`, 0 for a padded prediction, which attends to
            nothing; None without predictions.
        hidden_keys: bool `[batch, Q, K]`, True where the query must not see the key;
            None where all see all.
        other_segments: bool `[batch, Q, K]`, True where the segments of query and key
            differ; None without segments.
        pick: the function of `of_rows`; None where all queries are there.
    """

    tokens: typing.Any
    codes: typing.Any
    directions: typing.Any
    memories: typing.Any
    positions: typing.Any
    answers: typing.Any
    hidden_keys: typing.Any
    other_segments: typing.Any
    pick: typing.Any = None

    def of_rows(self, pick):
        """Returns the view of the queries that `pick` takes from `[batch, Q, ...]`."""
        names = ("positions", "answers", "hidden_keys", "other_segments")
        rows = {name: getattr(self, name) for name in names}
        picked = {n: None if row is None else pick(row) for n, row in rows.items()}
        return dataclasses.replace(self, pick=pick, **picked)


def attention_view(features, tokens, memory_tokens, codes, directions):
    """Makes the `AttentionView` of a call.

    Args:
        features: dict of the model's features.
        tokens: S.
        memory_tokens: M.
        codes: see `positions.project_codes`.
        directions: see there.
    """
    batch = ops.shape(features["input_ids"])[0]
    places = ops.broadcast_to(ops.arange(tokens, dtype="int32"), (batch, tokens))
    targets, answers = features.get("target_positions"), None
    if targets is not None:
        targets = ops.cast(targets, "int32")
        real = ops.concatenate([ops.ones_like(places), targets >= 0], axis=1)
        answers = ops.expand_dims(ops.cast(real, "float32"), 2)
        targets = ops.maximum(targets, 0)
        places = ops.concatenate([places, targets], axis=1)
    return AttentionView(
        tokens=tokens,
        codes=codes,
        directions=directions,
        memories=features.get("memories"),
        positions=places,
        answers=answers,
        hidden_keys=_hidden_keys(features, tokens, memory_tokens, targets),
        other_segments=_other_segments(features, memory_tokens, targets),
    )


def _hidden_keys(features, tokens, memory_tokens, targets):
    masks = []
    if features.get("perm_mask") is not None:
        masks.append(ops.cast(features["perm_mask"], "float32") > 0)  # [B, S, S]
    if features.get("query_order") is not None:
        query_order = ops.expand_dims(features["query_order"], 2)
        masks.append(query_order <= ops.expand_dims(features["key_order"], 1))
    if features.get("input_mask") is not None:
        input_mask = ops.cast(features["input_mask"], "float32")
        masks.append(ops.expand_dims(input_mask, 1) <= 0)
    if not masks:
        return None
    hidden = functools.reduce(operator.or_, masks)
    hidden = hidden & ops.ones((tokens, 1), dtype="bool")
    # A token of the content stream always sees itself, a padded one too.
    own = ops.arange(tokens, dtype="int32")
    others = ops.not_equal(own[:, None], own)  # ONNX Runtime has no `eye` of bool
    rows = hidden & others
    if targets is not None:
        rows = ops.concatenate([rows, gather_positions(hidden, targets)], axis=1)
    # All see all of the memory.
    return ops.pad(rows, [[0, 0], [0, 0], [memory_tokens, 0]], constant_values=False)


def _other_segments(features, memory_tokens, targets):
    segments = features.get("segment_ids")
    if segments is None:
        return None
    segments = ops.cast(segments, "int32")
    # The memory counts as segment 0, whatever it was.
    of_keys = ops.pad(segments, [[0, 0], [memory_tokens, 0]])
    of_queries = segments
    if targets is not None:
        own = ops.expand_dims(segments, 2)
        of_targets = gather_positions(own, targets)[:, :, 0]
        of_queries = ops.concatenate([segments, of_targets], axis=1)
    # Not sliced with new axes, which TensorFlow Lite cannot.
    return ops.not_equal(ops.expand_dims(of_queries, 2), ops.expand_dims(of_keys, 1))
