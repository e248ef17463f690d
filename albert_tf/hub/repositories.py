"""Repositories of the Hugging Face Hub, downloaded by its library into its cache."""

import hashlib
import os
import pathlib
import re

from albert_tf.config import RELEASED_SIZES
from albert_tf.errors import UserError
from albert_tf.errors import of_extra
from albert_tf.io import checksums
from albert_tf.io.table_rows import PARQUET
from albert_tf.io.table_rows import SUFFIXES
from albert_tf.io.whole_folder import UNFINISHED

# Only files that this project reads: no PyTorch, TensorFlow, Flax or ONNX weights.
_ADAPTER = "adapter_config.json"
TOKENIZER_FILES = (
    "*.model",
    "added_tokens.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab_chinese.txt",
)
MODEL_FILES = (
    # Hugging Face's form, and the form of `save_pretrained`.
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*-of-*.safetensors",  # its parts
    "albert_config.json",
    "head.json",
    "model.weights.h5",
    "training_info.json",
    # The form of sentence-transformers.
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "*_Pooling/config.json",
    "*_Normalize/config.json",
    # Downloaded to be refused.
    _ADAPTER,
)
# Repositories often hold Parquet beside tables of the same rows, and JSON holds facts.
_TABLES = tuple(f"*{suffix}" for suffix in SUFFIXES if suffix not in (PARQUET, ".json"))
_WEIGHTS = (
    "model.safetensors",
    "model.weights.h5",
    "model.safetensors.index.json",
)
NAME = re.compile(r"[\w.-]+/[\w.-]+")
_SHA256_DIGITS = 64
_GIT_DIGITS = 40
GLUE_PAGE = "https://gluebenchmark.com/tasks"
_ARCHIVES = "https://storage.googleapis.com/albert_models"


def download_repository(name, revision, weights):
    """Downloads the files of a repository that this project reads into the Hub's cache.

    The library's environment variables apply: `HF_HOME` (the cache's place),
    `HF_HUB_OFFLINE`, `HF_ENDPOINT`, `HF_TOKEN`, `HF_HUB_DISABLE_PROGRESS_BARS`. It
    checks every file against the server's hash; `checksums.verifying_weights(False)`
    skips the weights.

    Args:
        name: "owner/name".
        revision: a branch, a tag or a commit; the main branch by default.
        weights: whether the weights are needed, or only the tokenizer's files.

    Returns:
        The folder of the snapshot, a str.

    Raises:
        UserError: huggingface_hub is not installed; the repository or revision does not
            exist, or has no weights that this project reads; the server cannot be
            reached, or a file is damaged.
    """
    patterns = TOKENIZER_FILES + (MODEL_FILES if weights else ())
    folder, files = _snapshot(name, revision, patterns, "model")
    if weights and not any(file in files for file in (*_WEIGHTS, _ADAPTER)):
        raise UserError(
            f"{_title(name, revision)} holds no {_WEIGHTS[0]}, the only Hugging Face "
            "weights that albert_tf reads; load the model with transformers and write "
            "it with save_pretrained first."
        )
    return folder


def download_tables(name, revision=None):
    """Downloads a data set's tables into the cache; see `download_repository`.

    Args:
        name: "owner/name" of the data set.
        revision: a branch, a tag or a commit; the main branch by default.

    Returns:
        The folder of the snapshot, a str.

    Raises:
        UserError: see `download_repository`; or the repository has no tables.
    """
    folder, files = _snapshot(name, revision, _TABLES, "dataset")
    if not files:
        endings = ", ".join(pattern.removeprefix("*") for pattern in _TABLES)
        raise UserError(
            f"{_title(name, revision)} holds no table that albert_tf reads "
            f"({endings}); convert its data to one of these. The GLUE files are at "
            f"{GLUE_PAGE}: download them there, and name their folder."
        )
    return folder


def _title(name, revision):
    return f"hf://{name}" + (f"@{revision}" if revision else "")


def _snapshot(name, revision, patterns, kind):
    """Downloads files whose names fit; returns their folder and their names in it."""
    title = _title(name, revision)
    if not NAME.fullmatch(name):
        raise UserError(
            f"{title} is not a repository: expected hf://owner/name or "
            "hf://owner/name@revision."
        )
    library = hub_library(title)
    try:
        folder = library.snapshot_download(
            name, revision=revision, allow_patterns=list(patterns), repo_type=kind
        )
    except (OSError, ValueError, library.errors.HTTPError) as error:
        raise UserError(reason_of(library, title, error)) from error
    paths = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
    names = [path.relative_to(folder) for path in paths]
    if any({*UNFINISHED} & {*name.parts} for name in names):
        raise UserError(
            f"{title} holds files of a saving that was interrupted; whoever published "
            "it has to save the model again."
        )
    for path in paths:
        if path.name not in _WEIGHTS or checksums.verifies_weights():
            _check_hash(str(path), title)
    return folder, [*map(str, names)]


def hub_library(title):
    """Imports huggingface_hub, with its errors and constants, for `title`."""
    with of_extra("hub", f"{title} needs the package huggingface_hub"):
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    return huggingface_hub


def reason_of(library, title, error, done="downloaded from"):
    """Returns one sentence for an error of the library."""
    errors, endpoint = library.errors, library.constants.ENDPOINT
    if isinstance(error, errors.GatedRepoError):
        return f"{title} needs a login: accept its terms, and set HF_TOKEN."
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"{title} does not exist, or is private: check the spelling of owner and "
            "name, or set HF_TOKEN."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{title} does not exist: the repository has no such revision."
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return f"{title} could not be {done} {endpoint}: {lines[0].rstrip('.')}."


def _check_hash(path, title):
    """Compares a cached file with the hash in its name in the cache.

    The cache names large files by SHA-256, others by their git id. A cache that copies
    files instead of linking them keeps no hashes.
    """
    expected = os.path.basename(os.path.realpath(path))
    starts = {
        _SHA256_DIGITS: hashlib.sha256(),
        _GIT_DIGITS: hashlib.sha1(b"blob %d\0" % os.path.getsize(path)),
    }
    is_hash = re.fullmatch(r"[0-9a-f]+", expected)
    start = starts.get(len(expected)) if is_hash else None
    if start is not None and checksums.of_file(path, start) != expected:
        raise UserError(
            f"{path} of {title} is damaged: its hash is not the published one; delete "
            f"{os.path.realpath(path)} to download it again."
        )


def names_of_release(name):
    """Lists the names under which a released model can be downloaded, if any.

    The Hugging Face repository lacks the sentence-order head, and the Chinese models
    have no repository. The official archive holds both pretraining heads.

    Args:
        name: the name of a repository ("albert/albert-base-v2") or archive
            ("albert_base_v2", with or without ".tar.gz"), or a key of `RELEASED_SIZES`.
    """
    name = name.lower().removesuffix(".tar.gz").removeprefix("albert/")
    size = name.replace("-", "_").removeprefix("albert_")
    if size not in RELEASED_SIZES:
        return []
    archive = f"{_ARCHIVES}/albert_{size}.tar.gz"
    repository = f"hf://albert/albert-{size.replace('_', '-')}"
    return [archive] if size.endswith("_zh") else [repository, archive]
