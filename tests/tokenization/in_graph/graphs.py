"""Graphs of functions of texts, and tokenizers in them beside those in Python."""

import tensorflow as tf

from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer


def traced(function):
    """Returns a function of strings `[B]` as a graph.

    It spares the conversion by autograph, which takes seconds and which no tokenizer
    needs.
    """
    spec = [tf.TensorSpec([None], tf.string)]
    return tf.function(function, input_signature=spec, autograph=False)


def twin(tokenizer):
    """Returns a function of strings: the ids, and again with their starts and ends."""
    in_graph = InGraphTokenizer(tokenizer)
    return lambda texts: (in_graph(texts), *in_graph.with_offsets(texts))


def check(tokenizer, texts, run=None):
    """Checks that a tokenizer and its twin, or `run`, find the same; returns ids."""
    found = (run or twin(tokenizer))(tf.constant(texts, tf.string))
    alone, ids, starts, ends = (part.to_list() for part in found)
    assert alone == ids == tokenizer.encode_batch(texts)
    for text, of_text, *places in zip(texts, ids, starts, ends, strict=True):
        expected, spans = tokenizer.encode_with_offsets(text)
        assert of_text == expected, ascii(text)
        assert list(zip(*places, strict=True)) == list(map(tuple, spans)), ascii(text)
    return ids
