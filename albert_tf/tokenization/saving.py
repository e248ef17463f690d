"""Tokenizers beside checkpoints of other forms."""

import os

from albert_tf.files import write_atomically
from albert_tf.files import write_json
from albert_tf.tokenization.tokenizer import CONFIG_NAME

# Where the others look for a SentencePiece model.
_SENTENCEPIECE_NAMES = {"tf1": "30k-clean.model", "huggingface": "spiece.model"}


def save_for_others(tokenizer, directory, form):
    """Writes a tokenizer where the programs of another form look for it.

    Args:
        tokenizer: a tokenizer of this package.
        directory: it exists.
        form: "tf1" or "huggingface".
    """
    name = tokenizer.file_name
    if tokenizer.kind == "sentencepiece":
        name = _SENTENCEPIECE_NAMES[form]
    write_atomically(os.path.join(directory, name), tokenizer.file_bytes)
    # In Hugging Face's words, which both loaders of this project read, too.
    casing = {"do_lower_case": tokenizer.do_lower_case}
    write_json(os.path.join(directory, CONFIG_NAME), casing)
