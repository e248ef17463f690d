"""How many floating-point operations a configuration takes a token."""


def forward_operations(config, max_seq_length, max_predictions_per_seq):
    """Operations of a pretraining forward pass, a token, by part.

    A multiplication and an addition count as two. Only matrix products count; the
    heads work on some positions only, so their share of a token is small.

    Args:
        config: an `AlbertConfig`.
        max_seq_length: tokens in a sequence.
        max_predictions_per_seq: masked positions in a sequence.
    """
    embedding, hidden = config.embedding_size, config.hidden_size
    blocks = config.num_hidden_layers * config.inner_group_num
    predictions = max_predictions_per_seq / max_seq_length
    mapping = 2 * embedding * hidden if config.has_embedding_mapping else 0
    masked_lm = 2 * hidden * embedding + 2 * embedding * config.vocab_size
    return {
        "embedding mapping": mapping,
        "attention projections": blocks * 8 * hidden**2,
        "attention scores": blocks * 4 * max_seq_length * hidden,
        "feed-forward": blocks * 4 * hidden * config.intermediate_size,
        "masked LM head": predictions * masked_lm,
        "pooler": 2 * hidden**2 / max_seq_length,
    }


def backward_operations(forward, rematerialize=False):
    """Operations of the backward pass, a token, of `forward_operations`.

    Each product has two in its gradient; rematerialisation repeats the blocks.
    """
    total = 2 * sum(forward.values())
    if rematerialize:
        total += sum(
            forward[part]
            for part in ("attention projections", "attention scores", "feed-forward")
        )
    return total
