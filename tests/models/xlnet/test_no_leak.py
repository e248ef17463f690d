"""What a prediction must not see does not change it, not by the last bit."""

import numpy as np

from albert_tf.models.xlnet.language_model import XLNetLMHeadModel

_HALF, _ROWS = 5, 6
_TOKENS = 2 * _HALF


def permuted(random):
    """(perm_mask, targets) of two halves under the law of the official data."""
    hidden = np.zeros((_TOKENS, _TOKENS), bool)
    hidden[:_HALF, _HALF:] = True  # the first half must not see the second
    chosen = np.zeros(_TOKENS, bool)
    for begin in (0, _HALF):
        index = random.permutation(_HALF)
        functional = np.arange(_HALF) == (_HALF - 1 if begin else -1)
        picked = random.permutation(_HALF) < 3
        known = ~picked & ~functional
        targets = picked & ~functional
        rank = np.where(known, -1, index)
        own = np.where(targets, rank, rank + 1)
        half = slice(begin, begin + _HALF)
        hidden[half, half] = ~known & (own[:, None] <= rank)
        chosen[half] = targets
    return hidden, chosen


def test_no_pair_leaks(xlnet_config, randomised):
    random = np.random.default_rng(0)
    model = randomised(XLNetLMHeadModel(xlnet_config(mem_len=3, n_layer=3)))
    hidden, chosen = map(
        np.stack, zip(*(permuted(random) for _ in range(_ROWS)), strict=True)
    )
    ids = random.integers(1, 22, (_ROWS, _TOKENS), dtype="int32")
    features = {
        "segment_ids": np.repeat([[0] * _HALF + [1] * _HALF], _ROWS, axis=0),
        "perm_mask": hidden.astype("float32"),
        # All places ask: those that are no targets as if they were.
        "target_positions": np.repeat([np.arange(_TOKENS, dtype="int32")], _ROWS, 0),
        "memories": random.normal(size=(_ROWS, 3, 3, 8)).astype("float32"),
    }

    def outputs(ids):
        features["input_ids"] = ids
        content = model.transformer(features)["sequence_output"]
        return model(features)["logits"].numpy(), content.numpy()

    logits, content = outputs(ids)
    pairs = 0
    for j in range(_TOKENS):
        changed = ids.copy()
        changed[:, j] = (ids[:, j] + 1) % 23
        new_logits, new_content = outputs(changed)
        same = (new_logits == logits).all(axis=-1)  # [rows, queries]
        unseen = hidden[:, :, j] & chosen
        assert same[unseen].all()
        assert not same[~hidden[:, :, j] & chosen].any()
        assert unseen[chosen[:, j], j].all()  # a target does not see itself
        others = np.arange(_TOKENS) != j
        same = (new_content == content).all(axis=-1)
        assert same[hidden[:, :, j] & others].all()
        assert not same[:, j].any()  # but the content stream does
        pairs += unseen.sum()
    assert pairs > 100
