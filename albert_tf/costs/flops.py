"""Floating-point operations (FLOPs) of a configuration, a token."""


def forward_flops(config, max_seq_length, max_predictions_per_seq):
    """Counts the FLOPs of a pretraining forward pass, a token, by part.

    A multiplication and an addition count as two. Only matrix products count. Heads
    and, but for keys and values, the last block work on some positions only: the
    masked ones and the first.

    Args:
        config: an `AlbertConfig`.
        max_seq_length: tokens in a sequence.
        max_predictions_per_seq: masked positions in a sequence.
    """
    embedding, hidden = config.embedding_size, config.hidden_size
    whole_blocks = config.num_hidden_layers * config.inner_group_num - 1
    predictions = max_predictions_per_seq / max_seq_length
    needed = min(predictions + 1 / max_seq_length, 1)
    projection = 2 * hidden**2
    scores = 4 * max_seq_length * hidden
    products = 3 if config.is_gated else 2
    feed_forward = products * 2 * hidden * config.intermediate_size
    mapping = 2 * embedding * hidden if config.has_embedding_mapping else 0
    masked_lm = 2 * hidden * embedding + 2 * embedding * config.vocab_size
    return {
        "embedding mapping": mapping,
        "attention projections": whole_blocks * 4 * projection,
        "attention scores": whole_blocks * scores,
        "feed-forward": whole_blocks * feed_forward,
        **_adapter_flops(config, whole_blocks, needed),
        "last block": 2 * projection
        + needed * (2 * projection + scores + feed_forward),
        "masked LM head": predictions * masked_lm,
        "pooler": 2 * hidden**2 / max_seq_length,
    }


def _adapter_flops(config, whole_blocks, needed):
    """Counts the FLOPs of depth adapters, of which the last block's are for `needed`.

    Keys and values are of all tokens there, too.
    """
    sizes = [
        2 * config.depth_adapter_rank * sum(sides) * (whole_blocks + share)
        for products in config.adapted_products().values()
        for name, sides in products.items()
        for share in [1 if name in ("key", "value") else needed]
    ]
    return {"depth adapters": sum(sizes)} if sizes else {}


def backward_flops(forward, rematerialize=False):
    """Counts the FLOPs of the backward pass, a token, of `forward_flops`.

    Each product has two in its gradient; rematerialisation repeats the blocks, and
    half of the attention scores' products (the scores, not the context) once more.
    """
    total = 2 * sum(forward.values())
    if rematerialize:
        blocks = (
            "attention projections",
            "feed-forward",
            "depth adapters",
            "last block",
        )
        total += sum(forward.get(part, 0) for part in blocks)
        total += 1.5 * forward["attention scores"]
    return total


def training_flops(
    config, max_seq_length, max_predictions_per_seq, rematerialize=False
):
    """Counts the operations of a training step, a token, as `forward_flops`."""
    forward = forward_flops(config, max_seq_length, max_predictions_per_seq)
    return sum(forward.values()) + backward_flops(forward, rematerialize)
