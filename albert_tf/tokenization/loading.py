"""Loads the tokenizer that a file or directory holds."""

import json
import os
from typing import TYPE_CHECKING

from albert_tf.errors import UserError
from albert_tf.hub.names import local_directory
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import read_file
from albert_tf.io.files import read_json_if_there
from albert_tf.io.text_files import decoded
from albert_tf.io.whole_folder import require_whole
from albert_tf.row_layout import LAYOUTS
from albert_tf.tokenization import deberta
from albert_tf.tokenization import xlm_roberta
from albert_tf.tokenization.byte_bpe import MERGES
from albert_tf.tokenization.byte_bpe import VOCABULARY
from albert_tf.tokenization.byte_bpe import ByteBpeTokenizer
from albert_tf.tokenization.byte_bpe import merges_of
from albert_tf.tokenization.byte_bpe import tokenizer_json
from albert_tf.tokenization.huggingface import HUGGINGFACE_FILE
from albert_tf.tokenization.huggingface import check_special_pieces
from albert_tf.tokenization.huggingface import read_records
from albert_tf.tokenization.huggingface import read_tokenizer_json
from albert_tf.tokenization.huggingface import undamaged
from albert_tf.tokenization.huggingface import with_added_tokens
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import CONFIG_NAME
from albert_tf.tokenization.tokenizer import read_rules
from albert_tf.tokenization.wordpiece import WordPieceTokenizer

if TYPE_CHECKING:
    from albert_tf.tokenization.tokenizer import Tokenizer

# The last is from the official Chinese archives.
_KNOWN_NAMES = (
    "spiece.model",
    "30k-clean.model",
    VOCABULARY,
    "vocab.txt",
    "vocab_chinese.txt",
)
_TFHUB_FOLDER = "assets"


def load_tokenizer(
    path: str | os.PathLike,
    do_lower_case: bool | None = None,
    revision: str | None = None,
) -> "Tokenizer":
    """Loads the SentencePiece, WordPiece or byte-level BPE tokenizer at `path`.

    Args:
        path: a SentencePiece `.model` file, a WordPiece `vocab.txt`, a `vocab.json`
            with a `merges.txt` beside it, or a directory with one of them (ours, an
            unpacked official archive or a Hugging Face model) or a `tokenizer.json` in
            their place; or the name of a model, as `from_pretrained` takes it.
        do_lower_case: whether to lower letters; by default as the directory's
            `tokenizer_config.json` says, or else like the released models, which do,
            except XLNet's.
        revision: branch, tag or commit of an "hf://" model.

    Returns:
        A `SentencePieceTokenizer`, a `WordPieceTokenizer` or, with its special tokens,
        a `ByteBpeTokenizer`.

    Raises:
        UserError: `path` does not exist, or holds no tokenizer, several ones or one
            with another casing; or its vocabulary lacks the special pieces of ALBERT
            and XLNet.
    """
    return read_tokenizer(local_directory(path, revision, weights=False), do_lower_case)


def read_saved_config(directory):
    """Reads the tokenizer's settings from a model directory, which need not exist.

    Returns:
        A dict: "file", if `Tokenizer.save` wrote it; "row_layout", if it is not the
        vocabulary's; "do_lower_case", if `tokenizer_config.json` or `tokenizer.json`
        gives it; the directory's `TextRules`; and "added_tokens", if there are any.

    Raises:
        UserError: albert_tf cannot reproduce the tokenizer, which is Hugging Face's; or
            a file that was written there is gone.
    """
    require_whole(directory)
    path = os.path.join(directory, CONFIG_NAME)
    config = read_json_if_there(path)
    if type(config.get("do_lower_case", True)) is not bool:
        raise UserError(
            f"{path} sets do_lower_case to {config['do_lower_case']!r}, expected true "
            "or false."
        )
    layout = config.get("row_layout", "cls_first")
    if layout not in list(LAYOUTS):  # a JSON value may be unhashable
        raise UserError(
            f"{path} sets row_layout to {layout!r}, expected {' or '.join(LAYOUTS)}."
        )
    if not storage.is_name(config.get("file", "-")):
        raise UserError(
            f"{path} sets file to {config['file']!r}, expected the name of a file "
            "beside it."
        )
    return config if "file" in config else read_records(directory, config)


def saved_files(directory):
    """Returns the set of tokenizer files that `SHA256SUMS` in a directory names."""
    listed = checksums.read(directory)
    names = CONFIG_NAME, *_KNOWN_NAMES, MERGES, HUGGINGFACE_FILE
    names = *names, xlm_roberta.FILE, deberta.FILE
    return listed.keys() & {*names} if CONFIG_NAME in listed else set()


def read_tokenizer(path, do_lower_case=None, config=None):
    """Loads a tokenizer like `load_tokenizer`, from an existing file or directory.

    Args:
        path, do_lower_case: see `load_tokenizer`.
        config: for a single file, the `read_saved_config` of another directory.
    """
    path = os.fspath(path)
    if storage.is_folder(path):
        return _read_folder(path, read_saved_config(path), do_lower_case)
    if os.path.basename(path) == HUGGINGFACE_FILE:
        raise UserError(f"{path} counts with the files beside it; name its directory.")
    return _read_file(path, do_lower_case, config or {})


def tokenizer_of(checkpoint, named=None, do_lower_case=None):
    """Loads the tokenizer for a checkpoint.

    Args:
        checkpoint: a directory, or the prefix of a TF1 checkpoint; None for none.
        named: an existing file or directory that replaces the checkpoint's own. A
            single file gives no rules, so the checkpoint's apply.
        do_lower_case: see `load_tokenizer`.

    Returns:
        The tokenizer; None if none is named and the checkpoint has none.

    Raises:
        UserError: the checkpoint has another vocabulary or casing.
    """
    config = read_saved_config(checkpoint) if checkpoint else {}
    is_own = _is_own(checkpoint, config)
    if not named:
        return _read_folder(checkpoint, config, do_lower_case) if is_own else None
    tokenizer = read_tokenizer(named, do_lower_case, config)
    own = _read_folder(checkpoint, config) if is_own else tokenizer
    if own.fingerprint() != tokenizer.fingerprint():
        raise UserError(
            f"{named} is not the vocabulary (or casing) that {checkpoint} was trained "
            "with; leave --spm_model_file and --vocab_file out, and pretrain on data "
            f"that was made with the one in {checkpoint}."
        )
    return tokenizer


def brings_tokenizer(checkpoint):
    """Returns whether a checkpoint has a tokenizer.

    A model directory names its vocabulary; a Hugging Face model may record its casing,
    and have any number of vocabularies.
    """
    return _is_own(checkpoint, read_saved_config(checkpoint))


def _is_own(checkpoint, config):
    return "file" in config or (
        "do_lower_case" in config and len(_vocabularies(checkpoint)) == 1
    )


def _read_folder(path, config, do_lower_case=None):
    """Loads the tokenizer of a directory, given the result of `read_saved_config`."""
    do_lower_case = _casing(config, do_lower_case, path)
    file = _vocabulary_in(path, config)
    where = os.path.join(path, CONFIG_NAME)
    tokenizer = _read_file(file, do_lower_case, config, where)
    layout = LAYOUTS.get(config.get("row_layout"))
    return tokenizer if layout is None else tokenizer.laid_out(layout)


def _read_file(path, do_lower_case, config, where=CONFIG_NAME):
    """Loads the tokenizer of a file, with the rules in `config`, read from `where`."""
    file_bytes, name = _read(path), path
    with undamaged(path):
        if os.path.basename(path) == HUGGINGFACE_FILE:
            name, file_bytes, settings = read_tokenizer_json(file_bytes, path)
            do_lower_case = _casing(settings, do_lower_case, path)
            # Our own files beside it tell more.
            config = {**settings, **config} if "file" in config else config | settings
        elif os.path.basename(path) == VOCABULARY:
            merges = os.path.join(os.path.dirname(path), MERGES)
            pairs = merges_of(decoded(merges, _read(merges)))
            name = HUGGINGFACE_FILE
            file_bytes = tokenizer_json(json.loads(file_bytes), pairs)
        elif os.path.basename(path) == xlm_roberta.FILE:
            file_bytes = xlm_roberta.with_fairseq_ids(file_bytes, path)
        elif os.path.basename(path) == deberta.FILE:
            file_bytes = deberta.with_mask(file_bytes, path)
        elif path.endswith(".txt"):
            file_bytes = decoded(path, file_bytes).encode()
        rules = read_rules(config, where)
        tokenizer_class = _class_for(name, file_bytes)
        tokenizer = tokenizer_class(file_bytes, do_lower_case, path, rules)
    check_special_pieces(tokenizer, config, where)
    return with_added_tokens(tokenizer, config, where)


def _casing(config, asked, source):
    recorded = config.get("do_lower_case", asked)
    if asked is not None and recorded != asked:
        raise UserError(
            f"The tokenizer in {source} has do_lower_case={str(recorded).lower()}, "
            f"but do_lower_case={str(asked).lower()} was asked for; its model was "
            f"trained with the former: pass --do_lower_case={str(recorded).lower()}, "
            "or name the vocabulary's file itself to make another tokenizer of it."
        )
    return recorded


def is_tokenizer(name):
    """Returns whether a file's name is that of a vocabulary."""
    return name in (*_KNOWN_NAMES, HUGGINGFACE_FILE) or name.endswith(".model")


def tokenizer_for_model(tokenizer, config, directory):
    """Returns the tokenizer with the row layout of a model's configuration.

    Raises:
        UserError: the model has no embedding for some of the tokenizer's pieces.
    """
    if tokenizer.vocab_size > config.vocab_size:
        raise UserError(
            f"The tokenizer in {directory} has {tokenizer.vocab_size} pieces, but the "
            f"model's vocab_size is {config.vocab_size}; put the vocabulary of its "
            "training there."
        )
    return tokenizer.laid_out(config.row_layout)


def _read(path):
    file_bytes = read_file(path)
    checksums.check_bytes(path, file_bytes)
    return file_bytes


def _vocabulary_in(directory, config):
    if "file" in config:
        return os.path.join(directory, config["file"])
    found, folder = _vocabularies(directory), directory
    assets = os.path.join(directory, _TFHUB_FOLDER)
    if not found and storage.is_folder(assets):
        found, folder = _vocabularies(assets), assets
    if len(found) != 1:
        what = f"several ({', '.join(found)})" if found else "none"
        raise UserError(
            f"Expected one tokenizer (a SentencePiece .model file, vocab.txt or "
            f"vocab.json) in {directory}, found {what}; name the file itself."
        )
    return os.path.join(folder, found[0])


def _vocabularies(directory):
    """Lists the names of files in a directory that may be vocabularies."""
    names = storage.names_in(directory)
    found = [name for name in _KNOWN_NAMES if name in names]
    if not any(name.endswith(".model") for name in found):
        found += sorted(name for name in names if name.endswith(".model"))
    return found or [name for name in names if name == HUGGINGFACE_FILE]


def _class_for(path, file_bytes):
    if path.endswith(".model"):
        return SentencePieceTokenizer
    if os.path.basename(path) == HUGGINGFACE_FILE:
        return ByteBpeTokenizer
    if path.endswith(".vocab"):
        raise UserError(
            f"{path} is the readable list beside a SentencePiece model; pass the "
            f".model file."
        )
    try:
        file_bytes.decode("utf-8")
    except UnicodeDecodeError:
        return SentencePieceTokenizer
    return WordPieceTokenizer
