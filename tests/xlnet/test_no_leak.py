"""Tokens hidden from a prediction do not change it, not by the last bit."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.xlnet.model import XLNetLMHeadModel
from data_pipeline.xlnet.permutation import permuted_order

_HALF, _ROWS = 5, 6
_TOKENS = 2 * _HALF
_FUNCTIONAL = 22  # the id of the last token, as [CLS]


def permuted(random):
    """(perm_mask, chosen, permutations) of two halves, by the law in words."""
    hidden = np.zeros((_TOKENS, _TOKENS), bool)
    hidden[:_HALF, _HALF:] = True  # the first half must not see the second
    chosen = np.concatenate([random.permutation(_HALF) < 3 for _ in range(2)])
    permutations = [random.permutation(_HALF) for _ in range(2)]
    for begin, index in zip((0, _HALF), permutations, strict=True):
        for i, j in itertools.product(range(_HALF), repeat=2):
            query, key = begin + i, begin + j
            is_functional = query == _TOKENS - 1
            is_known = not chosen[key] and key < _TOKENS - 1
            asks = chosen[query] or is_functional
            comes_before = index[j] < index[i] or (i == j and is_functional)
            hidden[query, key] = not (is_known or (asks and comes_before))
    return hidden, chosen, np.array(permutations, "int32")


def segments(random):
    """(features, hidden pairs, targets) of rows with a permutation each."""
    hidden, chosen, permutations = map(
        np.stack, zip(*(permuted(random) for _ in range(_ROWS)), strict=True)
    )
    ids = random.integers(1, 21, (_ROWS, _TOKENS), dtype="int32")
    ids[:, -1] = _FUNCTIONAL
    query_order, key_order, targets = permuted_order(
        ids, chosen, permutations, _HALF, [_FUNCTIONAL]
    )
    features = {
        "input_ids": ids,
        "segment_ids": np.repeat([[0] * _HALF + [1] * _HALF], _ROWS, axis=0),
        "query_order": query_order,
        "key_order": key_order,
        # All places ask: those that are no targets as if they were.
        "target_positions": np.repeat([np.arange(_TOKENS, dtype="int32")], _ROWS, 0),
        "memories": random.normal(size=(_ROWS, 2, 3, 8)).astype("float32"),
    }
    return features, hidden, targets.numpy()


@pytest.mark.slow
def test_no_pair_leaks(xlnet_config, randomised):
    model = randomised(XLNetLMHeadModel(xlnet_config(mem_len=3)))
    features, hidden, chosen = segments(np.random.default_rng(0))
    ids = features["input_ids"]

    @tf.function
    def outputs(ids):
        content = model.transformer({**features, "input_ids": ids})["sequence_output"]
        return model({**features, "input_ids": ids})["logits"], content

    logits, content = outputs(ids)
    pairs = 0
    for j in range(_TOKENS):
        changed = ids.copy()
        changed[:, j] = (ids[:, j] + 1) % 23
        new_logits, new_content = outputs(changed)
        same = np.all(new_logits == logits, axis=-1)  # [rows, queries]
        unseen = hidden[:, :, j] & chosen
        assert same[unseen].all()
        assert not same[~hidden[:, :, j] & chosen].any()
        assert unseen[chosen[:, j], j].all()  # a target does not see itself
        others = np.arange(_TOKENS) != j
        same = np.all(new_content == content, axis=-1)
        assert same[hidden[:, :, j] & others].all()
        assert not same[:, j].any()  # but the content stream does
        pairs += unseen.sum()
    assert pairs > 100
