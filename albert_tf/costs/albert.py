"""Pretraining costs of an ALBERT configuration: parameters, FLOPs and memory."""

_FLOAT = 4  # bytes


def encoder_parameters(config):
    """Counts the parameters of an `AlbertModel` by part."""
    embedding, hidden = config.embedding_size, config.hidden_size
    rows = config.vocab_size + config.type_vocab_size
    if config.position_embedding_type == "learned":
        rows += config.position_rows
    layers = config.layer_schedule()
    attention_sets = {attention for blocks in layers for attention, _ in blocks}
    feed_forward_sets = {ffn for blocks in layers for _, ffn in blocks}
    mapping = _dense(embedding, hidden) if config.has_embedding_mapping else 0
    parameters = {
        "embeddings": rows * embedding + _norm(config, embedding, in_block=False),
        "embedding mapping": mapping,
        "attention": len(attention_sets) * attention_parameters(config),
        "feed-forward": len(feed_forward_sets) * feed_forward_parameters(config),
        "pooler": _dense(hidden, hidden, config.has_bias("head", in_block=False)),
    }
    products = config.adapted_products().values()
    if products:
        width = sum(sum(sides) for part in products for sides in part.values())
        blocks = config.num_hidden_layers * config.inner_group_num
        parameters["depth adapters"] = blocks * config.depth_adapter_rank * width
    if not config.norms_first_input:
        parameters["attention"] -= _norm(config, hidden)
    if config.pooler_norm:
        parameters["pooler"] += _norm(config, hidden, in_block=False)
    if config.is_disentangled:
        vectors = config.distances * hidden
        parameters["relative positions"] = vectors + _norm(config, hidden)
    if config.norm == "pre":
        parameters["final norm"] = _norm(config, hidden)
    return parameters


def attention_parameters(config):
    """Counts the parameters of one attention sublayer, layer norm included."""
    hidden = config.hidden_size
    products = 4 * _dense(hidden, hidden, config.has_bias("attention"))
    return products + _norm(config, hidden)


def feed_forward_parameters(config):
    """Counts the parameters of one feed-forward sublayer, layer norm included."""
    hidden, intermediate = config.hidden_size, config.intermediate_size
    has_bias = config.has_bias("feed_forward")
    inner = _dense(hidden, intermediate, has_bias)
    inner *= 2 if config.is_gated else 1
    return inner + _dense(intermediate, hidden, has_bias) + _norm(config, hidden)


def pretraining_parameters(config):
    """Counts an `AlbertForPreTraining`'s parameters by part; the word table once."""
    embedding = config.embedding_size
    has_bias = config.has_bias("head", in_block=False)
    transform = _dense(config.hidden_size, embedding, has_bias)
    transform += _norm(config, embedding, in_block=False)
    decoder = config.vocab_size * config.has_bias("decoder", in_block=False)
    return {
        **encoder_parameters(config),
        "masked LM head": transform + decoder,
        "sentence order head": _dense(config.hidden_size, 2),
    }


def _norm(config, width, in_block=True):
    return (1 + config.has_bias("norm", in_block)) * width


def _dense(inputs, outputs, use_bias=True):
    return (inputs + use_bias) * outputs


def forward_flops(config, length, predictions):
    """Counts the FLOPs per token of a pretraining forward pass, by part.

    A multiplication and an addition count as two. Only matrix products count. Heads
    and, except for keys and values, the last block compute only the first position and
    the masked ones.

    Args:
        config: an `AlbertConfig`.
        length: tokens in a sequence.
        predictions: masked positions in a sequence.
    """
    embedding, hidden = config.embedding_size, config.hidden_size
    whole_blocks = config.num_hidden_layers * config.inner_group_num - 1
    share = predictions / length
    needed = min(share + 1 / length, 1)
    projection = 2 * hidden**2
    # Of tokens with tokens and with the vectors of distances, of which both
    # projections are computed once for a batch, and do not count.
    scores = 4 * (length + config.distances) * hidden
    unseen = length - _local_keys(config, length)
    unscored = 4 * _local_blocks(config, whole_blocks) * unseen * hidden
    products = 3 if config.is_gated else 2
    feed_forward = products * 2 * hidden * config.intermediate_size
    mapping = 2 * embedding * hidden if config.has_embedding_mapping else 0
    masked_lm = 2 * hidden * embedding + 2 * embedding * config.vocab_size
    return {
        "embedding mapping": mapping,
        "attention projections": whole_blocks * 4 * projection,
        "attention scores": whole_blocks * scores - unscored,
        "feed-forward": whole_blocks * feed_forward,
        **_adapter_flops(config, whole_blocks, needed),
        "last block": 2 * projection
        + needed * (2 * projection + scores + feed_forward),
        "masked LM head": share * masked_lm,
        "pooler": 2 * hidden**2 / length,
    }


def _local_blocks(config, blocks):
    """Counts the local ones among the first `blocks`."""
    if config.local_attention_window is None:
        return 0
    return sum(i % config.global_attention_every > 0 for i in range(blocks))


def _local_keys(config, length):
    """Counts the keys with which a local block scores a token.

    They are all, or those of three blocks (`layers/local_attention.py`).
    """
    if config.local_attention_window is None or config.is_disentangled:
        return length
    return 3 * config.local_block if config.is_long(length) else length


def _adapter_flops(config, whole_blocks, needed):
    """Counts the FLOPs of depth adapters.

    The last block computes only the tokens `needed`, but keys and values of all tokens.
    """
    sizes = [
        2 * config.depth_adapter_rank * sum(sides) * (whole_blocks + share)
        for products in config.adapted_products().values()
        for name, sides in products.items()
        for share in [1 if name in ("key", "value") else needed]
    ]
    return {"depth adapters": sum(sizes)} if sizes else {}


def backward_flops(forward, rematerialize=False):
    """Counts the FLOPs per token of the backward pass of `forward_flops`.

    The gradient of a product is two products; rematerialisation repeats the blocks, and
    half of the attention's products (the scores, not the context) once more.
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


def training_flops(forward, rematerialize=False):
    """Counts the FLOPs per token of a training step, from `forward_flops`."""
    return sum(forward.values()) + backward_flops(forward, rematerialize)


def block_values(config, length):
    """Counts the values per token that a block keeps for its backward pass.

    They are input, query, key, value, context, two layer norms and their outputs, of
    width H; the gate and the first projection, from which the activation is computed
    again, of width I; the probabilities of every head and key, in the mean of local and
    global blocks; and the first product of each adapter, as wide as its rank.
    """
    inner = (2 if config.is_gated else 1) * config.intermediate_size
    blocks = config.num_hidden_layers * config.inner_group_num
    unseen = length - _local_keys(config, length)
    keys = length - unseen * _local_blocks(config, blocks) / blocks
    probabilities = config.num_attention_heads * (keys + 2 * config.distances)
    products = sum(map(len, config.adapted_products().values()))
    adapters = products * config.depth_adapter_rank
    return 8 * config.hidden_size + inner + probabilities + adapters


def training_memory(
    config,
    batch_size,
    length,
    predictions,
    rematerialize=False,
    activation_bytes=_FLOAT,
):
    """Estimates the bytes of a pretraining step by part.

    Args:
        config: an `AlbertConfig`.
        batch_size: sequences in one replica's (micro-)batch.
        length: tokens in a sequence.
        predictions: masked positions in a sequence.
        rematerialize: keep only the inputs of the blocks, and one block at a time.
        activation_bytes: bytes of a value between layers: 4 in float32, 2 in mixed
            precision, which keeps weights, gradients and logits in float32.
    """
    tokens = batch_size * length
    blocks = config.num_hidden_layers * config.inner_group_num
    block = block_values(config, length)
    kept = blocks * config.hidden_size + block if rematerialize else blocks * block
    embeddings = 3 * config.embedding_size
    logits = 2 * batch_size * predictions * config.vocab_size
    parameters = _FLOAT * sum(pretraining_parameters(config).values())
    return {
        "weights": parameters,
        "gradients": parameters,
        # XLA adds up the blocks' gradients of shared weights at the very end;
        # rematerialisation adds each block's to a running total.
        "gradients of each block": _FLOAT
        * (1 if rematerialize else blocks)
        * (attention_parameters(config) + feed_forward_parameters(config)),
        "optimizer (up to two moments)": 2 * parameters,
        "activations": activation_bytes * tokens * (kept + embeddings),
        "masked LM logits": _FLOAT * logits,
    }
