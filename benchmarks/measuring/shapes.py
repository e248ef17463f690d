"""The shapes of training steps that benchmarks measure."""

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
