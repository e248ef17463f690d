"""Vocabularies in a `tokenizer.json`, the one file of a tokenizer in transformers 5."""

import json

from albert_tf.errors import UserError

_BERT_NORMALIZER = {"clean_text": True, "handle_chinese_chars": True}
_WORDPIECE = {
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}


def read_tokenizer_json(file_bytes, path):
    """Reads the vocabulary, and what is done to texts before it.

    Args:
        file_bytes: of the `tokenizer.json`.
        path: of that file, for messages.

    Returns:
        The name that the vocabulary's file has elsewhere, its bytes, and a dict of
        "do_lower_case" and the `TextRules`, as `tokenizer_config.json` records them.

    Raises:
        UserError: the file is damaged, or does to texts what albert_tf does not.
    """
    try:
        content = json.loads(file_bytes)
        model = content["model"]
        kind = model["type"]
        if kind != "WordPiece":
            _refuse(path, f"a model of type {kind!r}", "spiece.model")
        return "vocab.txt", *_read_wordpiece(content, model, path)
    except UserError:
        raise
    except (
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise UserError(
            f"{path} is a damaged tokenizer ({error!r}); copy the file again."
        ) from error


def _read_wordpiece(content, model, path):
    found = {key: model[key] for key in _WORDPIECE}
    _require(found, _WORDPIECE, "model", "vocab.txt", path)
    normalizer = content["normalizer"]
    expected = {"type": "BertNormalizer", **_BERT_NORMALIZER}
    lowers, strips = normalizer["lowercase"], normalizer["strip_accents"]
    if type(lowers) is not bool:
        raise TypeError(f"lowercase is {lowers!r}")
    found = {key: normalizer[key] for key in expected}
    _require(found, expected, "normalizer", "vocab.txt", path)
    splits = {"type": content["pre_tokenizer"]["type"]}
    _require(splits, {"type": "BertPreTokenizer"}, "pre_tokenizer", "vocab.txt", path)
    settings = {
        "do_lower_case": lowers,
        "strip_accents": strips,
        "counts_lines": True,
        "as_tokenizers": True,
    }
    return _lines(model["vocab"], path), settings


def _lines(vocabulary, path):
    """The bytes of a `vocab.txt`."""
    pieces = sorted(vocabulary, key=vocabulary.get)
    if [vocabulary[piece] for piece in pieces] != list(range(len(pieces))):
        _refuse(path, "a vocabulary with gaps between its ids", "vocab.txt")
    for piece in pieces:
        if "\n" in piece or piece.endswith("\r"):
            _refuse(path, f"the piece {piece!r} of two lines", "vocab.txt")
    return "".join(f"{piece}\n" for piece in pieces).encode()


def _require(found, expected, name, file, path):
    if found != expected:
        _refuse(path, f"the {name} {json.dumps(found)}", file)


def _refuse(path, what, file):
    raise UserError(
        f"{path} has {what}, which albert_tf cannot follow exactly; put the {file} "
        "beside it that the model was trained with."
    )
