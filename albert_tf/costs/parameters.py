"""Number of parameters of a configuration, without building the model."""


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
        "embeddings": rows * embedding + 2 * embedding,
        "embedding mapping": mapping,
        "attention": len(attention_sets) * attention_parameters(config),
        "feed-forward": len(feed_forward_sets) * feed_forward_parameters(config),
        "pooler": _dense(hidden, hidden),
    }
    products = config.adapted_products().values()
    if products:
        width = sum(sum(sides) for part in products for sides in part.values())
        blocks = config.num_hidden_layers * config.inner_group_num
        parameters["depth adapters"] = blocks * config.depth_adapter_rank * width
    if config.norm == "pre":
        parameters["final norm"] = _norm(config)
    return parameters


def attention_parameters(config):
    """Counts the parameters of one attention sublayer, layer norm included."""
    hidden = config.hidden_size
    return 4 * _dense(hidden, hidden, config.use_bias) + _norm(config)


def feed_forward_parameters(config):
    """Counts the parameters of one feed-forward sublayer, layer norm included."""
    hidden, intermediate = config.hidden_size, config.intermediate_size
    inner = _dense(hidden, intermediate, config.use_bias)
    inner *= 2 if config.is_gated else 1
    return inner + _dense(intermediate, hidden, config.use_bias) + _norm(config)


def pretraining_parameters(config):
    """Counts an `AlbertForPreTraining`'s parameters by part; the word table once."""
    embedding = config.embedding_size
    transform = _dense(config.hidden_size, embedding) + 2 * embedding
    return {
        **encoder_parameters(config),
        "masked LM head": transform + config.vocab_size,
        "sentence order head": _dense(config.hidden_size, 2),
    }


def _norm(config):
    return (2 if config.use_bias else 1) * config.hidden_size


def _dense(inputs, outputs, use_bias=True):
    return (inputs + use_bias) * outputs
