"""A model with new pieces in its vocabulary, learnt from text."""

import dataclasses
from collections.abc import Callable
from typing import Any

from absl import logging

from albert_tf import bundle
from albert_tf.families.vocabulary_growth import with_new_pieces
from albert_tf.models.base import seeded
from albert_tf.tokenization.extension import extension_of
from albert_tf.tokenization.loading import tokenizer_for_model

_REPORT_LINES = 10_000


def extend_model(
    source: str, read: Callable[[], list[str]], count: int, target: str, **training: Any
) -> dict[str, Any]:
    """Writes a model directory whose vocabulary has new pieces.

    Args:
        source: a model, as `from_pretrained` takes it.
        read: function that returns the text, called once the model is checked.
        count: the number of new pieces.
        target: the folder to write.
        **training: see `extension._extended`.

    Returns:
        A dict: pieces, lines, new_pieces, and words in pieces before and after,
        pieces_per_word.

    Raises:
        UserError: there is no model, it has no configuration or no tokenizer, or its
            vocabulary cannot grow.
    """
    opened = bundle.open(source)
    model_class, head = opened.head()
    config = opened.config_for(model_class)
    old = tokenizer_for_model(opened.tokenizer(), config, opened.path)
    extended = extension_of(old)
    lines = read()
    tokenizer, replaced = extended(lines, count, **training)
    tensors = with_new_pieces(opened.tensors, old.vocab_size, replaced)
    grown = dataclasses.replace(
        opened,
        config=_with_vocabulary(config, tokenizer.vocab_size),
        read=lambda: tensors,
        saved=(),
    )
    with seeded(0):  # of a head that the checkpoint may lack
        model = grown.model(model_class, **head)
    model.save_pretrained(target, tokenizer, opened.info or None)
    logging.info("%s: %d new pieces", target, len(replaced))
    return _report(old, tokenizer, lines)


def _report(old, new, lines):
    report = {
        "pieces": new.vocab_size,
        "lines": len(lines),
        "new_pieces": new.vocab_size - old.vocab_size,
        "pieces_per_word": [_pieces_per_word(t, lines) for t in (old, new)],
    }
    logging.info(
        "%d lines, %d pieces in all; %.3f pieces a word before, %.3f now",
        *(len(lines), new.vocab_size, *report["pieces_per_word"]),
    )
    return report


def _with_vocabulary(config, size):
    name = next(n for n in ("vocab_size", "n_token") if n in vars(config))
    return dataclasses.replace(config, **{name: max(size, config.vocab_size)})


def _pieces_per_word(tokenizer, lines):
    checked = lines[:_REPORT_LINES]
    ids, _ = tokenizer.encode_flat(checked)
    return len(ids) / max(1, sum(len(line.split()) for line in checked))
