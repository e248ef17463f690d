"""Byte-level byte-pair encoding: the tokenizer of RoBERTa, and of GPT-2 before it."""
