"""The shapes of training steps that benchmarks measure."""

import dataclasses


def without_dropout(config):
    """An `AlbertConfig` with both dropout rates 0."""
    return dataclasses.replace(
        config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )


def batch_shape(text):
    """The sizes for `turns.make_batch` in "TOKENSxBATCHxPREDICTIONS".

    Raises:
        ValueError: the text has another form.
    """
    tokens, batch_size, predictions = map(int, text.split("x"))
    return {"batch_size": batch_size, "tokens": tokens, "predictions": predictions}
