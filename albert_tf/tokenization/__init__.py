"""Tokenizers with the official preprocessing; `load_tokenizer` picks the right one."""

from albert_tf.tokenization.loading import load_tokenizer
from albert_tf.tokenization.loading import load_tokenizer_for
from albert_tf.tokenization.loading import saved_tokenizer

__all__ = ["load_tokenizer", "load_tokenizer_for", "saved_tokenizer"]
