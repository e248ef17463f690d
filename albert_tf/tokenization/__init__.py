"""Tokenizers with the official preprocessing; `load_tokenizer` picks the right one."""

from albert_tf.tokenization.loading import load_tokenizer

__all__ = ["load_tokenizer"]
