"""Tokenizers beside checkpoints of other forms."""

from albert_tf.io.checksummed_folder import ChecksummedFolder
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
    with ChecksummedFolder(directory) as folder:
        folder.write(name, tokenizer.file_bytes)
        # The casing has Hugging Face's name.
        folder.write_json(CONFIG_NAME, tokenizer.settings())
