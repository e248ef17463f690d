"""The shapes of training steps that benchmarks measure, and of their products."""

import collections
import dataclasses

_RATES = {"hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "dropatt"}


def without_dropout(config):
    """Returns a configuration with all dropout rates 0."""
    rates = _RATES & {field.name for field in dataclasses.fields(config)}
    return dataclasses.replace(config, **dict.fromkeys(rates, 0.0))


def modern(config):
    """Returns an `AlbertConfig` with blocks of today that take as many operations."""
    return dataclasses.replace(
        config,
        position_embedding_type="rotary",
        norm="pre",
        hidden_act="geglu",
        intermediate_size=config.intermediate_size * 2 // 3,
    )


def batch_shape(text):
    """Parses the sizes for `turns.make_batch` in "TOKENSxBATCHxPREDICTIONS"."""
    tokens, batch_size, predictions = map(int, text.split("x"))
    return {"batch_size": batch_size, "tokens": tokens, "predictions": predictions}


def training_products(config, rows, tokens, read=None, predictions=0):
    """Counts the forward products of a training step by shape.

    Args:
        config: an `AlbertConfig`.
        rows, tokens: sizes of the batch.
        read: how many tokens of a row the heads read, all by default; the last block
            computes only these.
        predictions: masked tokens in a row, each with logits over the vocabulary.

    Returns:
        A `Counter` of (matrices, m, k, n): the matrices `[m, k]` times `[k, n]`.
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    matrices, size = rows * config.num_attention_heads, config.head_size
    blocks = config.num_hidden_layers * config.inner_group_num
    found = collections.Counter()
    if config.has_embedding_mapping:
        found[1, rows * tokens, embedding, hidden] += 1
    for count, attending in ((blocks - 1, tokens), (1, read or tokens)):
        for sublayer in config.block_products().values():
            for name, (inputs, outputs) in sublayer.items():
                computed = tokens if name in ("key", "value") else attending
                found[1, rows * computed, inputs, outputs] += count
        found[matrices, attending, size, tokens] += count
        found[matrices, attending, tokens, size] += count
    if predictions:
        found[1, rows * predictions, hidden, embedding] += 1
        found[1, rows * predictions, embedding, config.vocab_size] += 1
    return found
