"""Training of RoBERTa's byte-level BPE, by the package tokenizers."""

import json

from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.tokenization.byte_bpe import ByteBpeTokenizer
from albert_tf.tokenization.byte_bpe import tokenizer_json

_PIECES = ByteBpeTokenizer.special_pieces
# In the order of RoBERTa's ids; the mask is the last piece of all.
_FIRST = [_PIECES[name] for name in ("cls_id", "pad_id", "sep_id", "unk_id")]
_MASK = _PIECES["mask_id"]
_LEAST = 256 + len(_FIRST) + 1


def train(lines, options):
    """Trains a vocabulary on a list of str, as `TokenizerOptions` say.

    Returns:
        Its `ByteBpeTokenizer`, and the contents of its files by name.

    Raises:
        UserError: the package is not there, or too little text for the vocabulary.
    """
    size = options.vocab_size
    if size < _LEAST:
        raise UserError(
            f"--vocab_size={size}: a byte-level BPE has {_LEAST} pieces or more, one "
            "for each byte and the special ones."
        )
    with of_extra("bpe", "--model_type=byte_bpe needs the package tokenizers"):
        import tokenizers
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(
        lines, size - 1, special_tokens=_FIRST, show_progress=False
    )
    model = json.loads(trained.to_str())["model"]
    pieces = model["vocab"]
    if len(pieces) < size - 1:
        raise UserError(
            f"--vocab_size={size} is more than {options.input_file} ({len(lines)} "
            f"lines) has pieces for; pass {len(pieces) + 1} or less, or more text."
        )
    pieces[_MASK] = len(pieces)
    tokenizer = ByteBpeTokenizer(tokenizer_json(pieces, model["merges"]))
    return tokenizer, tokenizer.two_files()
