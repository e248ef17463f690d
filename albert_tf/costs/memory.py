"""Memory of a training step of a configuration."""

from albert_tf.costs.parameters import attention_parameters
from albert_tf.costs.parameters import feed_forward_parameters
from albert_tf.costs.parameters import pretraining_parameters

_FLOAT = 4  # bytes


def block_values(config, max_seq_length):
    """Counts the values that a block keeps for its backward pass, a token.

    Of width H: input, query, key, value, context, two layer norms and their
    outputs; of width I: the first projection, from which the activation is computed
    again, and the gate; the probabilities of every head and key; and of the width of
    its rank the first product of each adapter.
    """
    inner = (2 if config.is_gated else 1) * config.intermediate_size
    probabilities = config.num_attention_heads * max_seq_length
    products = sum(map(len, config.adapted_products().values()))
    adapters = products * config.depth_adapter_rank
    return 8 * config.hidden_size + inner + probabilities + adapters


def training_memory(
    config,
    batch_size,
    max_seq_length,
    max_predictions_per_seq,
    rematerialize=False,
    activation_bytes=_FLOAT,
):
    """Estimates the bytes of a pretraining step by part.

    Args:
        config: an `AlbertConfig`.
        batch_size: sequences in a (micro-)batch of one replica.
        max_seq_length: tokens in a sequence.
        max_predictions_per_seq: masked positions in a sequence.
        rematerialize: keep the inputs of the blocks only, and one block at a time.
        activation_bytes: of a value between layers: 4 in float32, 2 in mixed
            precision, where weights, gradients and logits are float32 all the same.
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
        # XLA adds up the blocks' gradients of shared weights at the very end;
        # rematerialisation adds each block's to a running total.
        "gradients of each block": _FLOAT
        * (1 if rematerialize else blocks)
        * (attention_parameters(config) + feed_forward_parameters(config)),
        "optimizer (two moments)": 2 * parameters,
        "activations": activation_bytes * tokens * (kept + embeddings),
        "masked LM logits": _FLOAT * logits,
    }
