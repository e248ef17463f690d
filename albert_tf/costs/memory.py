"""How much memory a training step of a configuration takes, in float32."""

from albert_tf.costs.parameters import pretraining_parameters

_FLOAT = 4  # bytes


def block_values(config, max_seq_length):
    """Values a block keeps for its backward pass, a token.

    Of width H: input, query, key, value, context, two layer norms and their
    outputs; of width I: the first projection, its tanh and the activation; scores
    and probabilities for every head and key.
    """
    scores = config.num_attention_heads * max_seq_length
    return 8 * config.hidden_size + 3 * config.intermediate_size + 2 * scores


def training_memory(
    config, batch_size, max_seq_length, max_predictions_per_seq, rematerialize=False
):
    """Bytes of a float32 pretraining step by part; an estimate.

    Args:
        config: an `AlbertConfig`.
        batch_size: sequences in a (micro-)batch of one replica.
        max_seq_length: tokens in a sequence.
        max_predictions_per_seq: masked positions in a sequence.
        rematerialize: keep the inputs of the blocks only, and one block at a time.
    """
    tokens = batch_size * max_seq_length
    blocks = config.num_hidden_layers * config.inner_group_num
    block = block_values(config, max_seq_length)
    kept = blocks * config.hidden_size + block if rematerialize else blocks * block
    embeddings = 3 * config.embedding_size
    logits = 2 * batch_size * max_predictions_per_seq * config.vocab_size
    parameters = _FLOAT * sum(pretraining_parameters(config).values())
    return {
        "weights": parameters,
        "gradients": parameters,
        "optimizer (two moments)": 2 * parameters,
        "activations": _FLOAT * tokens * (kept + embeddings),
        "masked LM logits": _FLOAT * logits,
    }
