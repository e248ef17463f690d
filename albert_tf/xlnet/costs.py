"""Pretraining costs of an XLNet configuration: parameters, FLOPs and memory."""

_FLOAT = 4  # bytes


def encoder_parameters(config):
    """Counts the parameters of an `XLNetModel`, as a single part."""
    blocks = [block for layer in config.layer_schedule() for block in layer]
    attention, feed_forward = (len(set(keys)) for keys in zip(*blocks, strict=True))
    width, heads = config.d_model, config.n_head * config.d_head
    rows = attention if config.untie_r else 1
    table = config.n_token * config.table_width
    mapping = config.table_width * width if config.has_embedding_mapping else 0
    of_feed_forward = 2 * width * config.d_inner + config.d_inner + 3 * width
    total = (
        (table + mapping + width)
        + heads * (3 * rows + 2 * attention)
        + attention * (5 * width * heads + 2 * width)
        + feed_forward * of_feed_forward
    )
    return {"encoder": total}


def pretraining_parameters(config):
    """Counts an `XLNetLMHeadModel`'s parameters by part; the word table counts once."""
    return {
        **encoder_parameters(config),
        "permutation LM bias": config.n_token,
    }


def forward_flops(config, length, predictions):
    """Counts the FLOPs per token of a pretraining forward pass, by part.

    A multiplication and an addition count as two. Only matrix products count, except
    the products of position codes, which all rows of a batch share. The last block
    computes only the query stream.

    Args:
        config: an `XLNetConfig`.
        length: tokens S in a segment.
        predictions: predictions P in a segment.
    """
    width, heads = config.d_model, config.n_head * config.d_head
    share = predictions / length
    keys = length + config.mem_len
    per_token = keys / length
    queries = 1 + share
    projection = 2 * width * heads
    # Content scores and values cover all keys; position scores cover all K + S codes.
    scores = 2 * heads * (3 * keys + length)
    feed_forward = 4 * width * config.d_inner
    mapping = 2 * config.table_width * width if config.has_embedding_mapping else 0
    words = 2 * config.table_width * config.n_token
    whole = config.blocks - 1
    last = queries - 1
    return {
        "embedding mapping": mapping,
        "attention projections": whole * 2 * projection * (per_token + queries),
        "attention scores": whole * queries * scores,
        "feed-forward": whole * queries * feed_forward,
        "last block": 2 * projection * (per_token + last)
        + last * (scores + feed_forward),
        "permutation LM head": share * (mapping + words),
    }


def training_memory(
    config,
    batch_size,
    length,
    predictions,
    rematerialize=False,
    activation_bytes=_FLOAT,
):
    """Estimates the bytes of a pretraining step by part.

    The arguments are those of `albert.training_memory`.
    """
    queries = length + predictions
    keys = length + config.mem_len
    # Per query: probabilities, and position scores before the shift.
    scores = config.n_head * (2 * keys + length)
    block = 8 * config.d_model + config.d_inner + scores
    kept = config.blocks * block
    if rematerialize:
        kept = config.blocks * config.d_model + block
    parameters = _FLOAT * sum(pretraining_parameters(config).values())
    remembered = config.blocks * config.mem_len * config.d_model
    logits = 2 * predictions * config.n_token
    return {
        "weights": parameters,
        "gradients": parameters,
        "optimizer (up to two moments)": 2 * parameters,
        "activations": activation_bytes * batch_size * queries * kept,
        # Before the step and after it.
        "memory of earlier segments": 2 * _FLOAT * batch_size * remembered,
        "permutation LM logits": _FLOAT * batch_size * logits,
    }
