"""`tokenizer_config.json` beside a vocabulary, ours or Hugging Face's."""

import os
import re

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import require_whole
from albert_tf.row_layout import LAYOUTS
from albert_tf.tokenization.huggingface.directory import their_added_tokens
from albert_tf.tokenization.tokenizer import CONFIG_NAME

# What makes a path of a name, or ends it.
_LEADS_AWAY = re.compile(r"[/\\\0]").search
# The same tokenizer in one file, without the SentencePiece model that is read here.
HUGGINGFACE_FILE = "tokenizer.json"
_HUGGINGFACE_FILES = ("config.json", HUGGINGFACE_FILE, "special_tokens_map.json")
_GOOGLES_BERT = "bert_config.json"
# Under other values their tokenizer splits texts otherwise than ours.
_REQUIRED = {
    "remove_space": True,
    "tokenize_chinese_chars": True,
    "never_split": None,
}


def read_saved_config(directory):
    """Reads the records of a directory on its tokenizer.

    Args:
        directory: of a model; it need not exist.

    Returns:
        A dict: "file", if `Tokenizer.save` wrote it, "row_layout", if it is not the
        vocabulary's, "do_lower_case", unless neither `tokenizer_config.json` nor
        `tokenizer.json` tells, the `TextRules` of the directory, and "added_tokens",
        if there are any.

    Raises:
        UserError: it is a tokenizer of Hugging Face's that ours is not equal to; or a
            file is gone that was written there.
    """
    require_whole(directory)
    path = os.path.join(directory, CONFIG_NAME)
    config = read_json_object(path) if storage.exists(path) else {}
    _check(path, config)
    if "file" not in config:
        config = {**_rules_of_the_kind(directory, config), **config}
    for key, value in _REQUIRED.items():
        if config.get(key, value) != value:
            raise UserError(
                f"{path} sets {key} to {config[key]!r}; albert_tf reads only "
                f"tokenizers with {value!r}."
            )
    if "do_lower_case" not in config:
        path = os.path.join(directory, HUGGINGFACE_FILE)
        if storage.exists(path):
            config["do_lower_case"] = _lowers(path)
    return config


def _rules_of_the_kind(directory, config):
    """Returns the rules of the program that wrote a directory, if it was not this one.

    Hugging Face's tokenizers of ALBERT join quotes, which the official code does not;
    theirs of BERT, and Google's, count the lines of `vocab.txt`.
    """
    is_theirs = "tokenizer_class" in config or any(
        storage.exists(os.path.join(directory, name)) for name in _HUGGINGFACE_FILES
    )
    if is_theirs:
        tokens = their_added_tokens(directory, config)
        return {"joins_quotes": True, "counts_lines": True, "added_tokens": tokens}
    is_bert = storage.exists(os.path.join(directory, _GOOGLES_BERT))
    return {"counts_lines": True} if is_bert else {}


def _check(path, config):
    """Refuses values of other types, and a file that lies elsewhere."""
    if type(config.get("do_lower_case", True)) is not bool:
        raise UserError(
            f"{path} sets do_lower_case to {config['do_lower_case']!r}, expected true "
            "or false."
        )
    layout = config.get("row_layout", "cls_first")
    if layout not in list(LAYOUTS):  # it may be no string
        raise UserError(
            f"{path} sets row_layout to {layout!r}, expected {' or '.join(LAYOUTS)}."
        )
    name = config.get("file", "-")
    if not isinstance(name, str) or name in ("", ".", "..") or _LEADS_AWAY(name):
        raise UserError(
            f"{path} sets file to {name!r}, expected the name of a file beside it."
        )


def _lowers(path):
    """Returns whether the normalizer of a `tokenizer.json` lowers letters."""
    pending = [read_json_object(path).get("normalizer") or {}]
    lowers = False
    while pending:
        normalizer = pending.pop()
        if not isinstance(normalizer, dict):
            raise UserError(
                f"{path} has the normalizer {normalizer!r}, expected an object."
            )
        parts, lowercase = (
            normalizer.get("normalizers", []),
            normalizer.get("lowercase"),
        )
        if not isinstance(parts, list) or type(lowercase) not in (bool, type(None)):
            raise UserError(
                f"{path} has the normalizer {normalizer!r}, expected a list of "
                "normalizers, and true or false for lowercase."
            )
        lowers |= lowercase or normalizer.get("type") == "Lowercase"
        pending.extend(parts)
    return lowers
