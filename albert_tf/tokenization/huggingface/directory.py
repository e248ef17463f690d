"""Added tokens in the files of a Hugging Face directory."""

import os

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object

HUGGINGFACE_FILE = "tokenizer.json"
"""A tokenizer in one file, without the SentencePiece model that is read here."""

_MAP_FILE, _LIST_FILE = "special_tokens_map.json", "added_tokens.json"
ADDED_TOKENS = "added_tokens_decoder"


def their_added_tokens(directory, config):
    """Lists the tokens that a directory has beside its vocabulary.

    `config` is the dict of its `tokenizer_config.json`.

    Returns:
        List of {"content", "id", "normalized", "lstrip"} in the order of the ids;
        special pieces of the vocabulary are among them.

    Raises:
        UserError: a file is damaged, the files contradict each other, or a token counts
            as a whole word only.
    """
    found = {}
    for path, tokens in _lists(directory, config):
        try:
            for token in tokens:
                _add(found, token["content"], int(token["id"]), token, path)
        except UserError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path} has a damaged list of added tokens ({error!r}); copy the file "
                "again."
            ) from error
    return sorted(found.values(), key=lambda token: token["id"])


def check_special_pieces(tokenizer, config, path):
    """Refuses a directory, by its settings, with other special tokens than ours."""
    for role in ("cls", "sep", "unk", "mask"):
        piece = tokenizer.special_pieces[f"{role}_id"]
        theirs = config.get(f"{role}_token")
        theirs = theirs.get("content") if isinstance(theirs, dict) else theirs
        if theirs not in (None, piece):
            raise UserError(
                f"{path} sets {role}_token to {theirs!r}; albert_tf reads only "
                f"tokenizers of this kind with {piece!r}."
            )


def _add(found, content, index, token, path):
    if token.get("single_word"):
        raise UserError(
            f"{path} adds {content!r} as a whole word only (single_word), which "
            "albert_tf cannot look for; set it to false in all files there if no text "
            "has it within a word."
        )
    switches = {name: bool(token.get(name)) for name in ("normalized", "lstrip")}
    known = found.setdefault(content, {"content": content, "id": index, **switches})
    if known["id"] != index:
        raise UserError(
            f"{path} gives the added token {content!r} the id {index}, another file of "
            f"the directory the id {known['id']}; copy the files again."
        )


def _lists(directory, config):
    """Yields each file that lists tokens, and the dicts in it."""
    decoder = config.get(ADDED_TOKENS)
    if decoder is not None:
        path = os.path.join(directory, "tokenizer_config.json")
        yield path, ({"id": key, **value} for key, value in decoder.items())
    path = os.path.join(directory, HUGGINGFACE_FILE)
    if storage.exists(path):
        yield path, read_json_object(path).get("added_tokens") or []
    path = os.path.join(directory, _LIST_FILE)
    if storage.exists(path):
        special = _special_tokens(directory)
        tokens = (
            {"content": text, "id": index, "normalized": text not in special}
            for text, index in read_json_object(path).items()
        )
        yield path, tokens


def _special_tokens(directory):
    path = os.path.join(directory, _MAP_FILE)
    if not storage.exists(path):
        return frozenset()
    values = read_json_object(path).values()
    tokens = [t for v in values for t in (v if isinstance(v, list) else [v])]
    return {t.get("content") if isinstance(t, dict) else str(t) for t in tokens}
