"""Uploads of model folders to repositories of the Hugging Face Hub."""

import pathlib

from absl import logging

from albert_tf.checkpoints.model_card import CARD
from albert_tf.checkpoints.model_card import MARK
from albert_tf.errors import UserError
from albert_tf.families.albert_tf import ALBERT_TF
from albert_tf.hub.repositories import MODEL_FILES
from albert_tf.hub.repositories import NAME
from albert_tf.hub.repositories import TOKENIZER_FILES
from albert_tf.hub.repositories import hub_library
from albert_tf.hub.repositories import reason_of
from albert_tf.io import checksums

# A model that was there before has these, too.
_REPLACED = (
    *MODEL_FILES,
    *(name for name in TOKENIZER_FILES if name != "*.model"),  # a "*" spans folders
    *("30k-clean.model", "sentencepiece.bpe.model", "spiece.model", "spm.model"),
    *("merges.txt", "vocab.json"),
    *ALBERT_TF.program_files,
    checksums.NAME,
)


def check_upload(name):
    """Refuses an upload that cannot succeed, before any work.

    Raises:
        UserError: `name` is not "owner/name", huggingface_hub is not installed, or
            there is no token.
    """
    if not NAME.fullmatch(name):
        raise UserError(f"{name!r} names no repository: expected owner/name.")
    if hub_library(f"hf://{name}").get_token() is None:
        raise UserError(
            f"An upload to hf://{name} needs a token that may write: set HF_TOKEN, or "
            "type hf auth login."
        )


def upload(folder, name, private):
    """Uploads a folder in one commit; see `PretrainedModel.push_to_hub`.

    Args:
        folder: a model folder with its card.
        name: "owner/name", which `check_upload` has seen.
        private: whether the repository must be private.

    Returns:
        The address of the repository, a str.
    """
    title = f"hf://{name}"
    library = hub_library(title)
    api = library.HfApi()
    refused = (OSError, RuntimeError, ValueError, library.errors.HTTPError)
    try:
        address = api.create_repo(name, private=private or None, exist_ok=True)
        is_public = private and not api.model_info(name, revision="main").private
        ignored = [CARD] if _has_foreign_card(library, api, name) else []
    except refused as error:
        raise UserError(reason_of(library, title, error, "uploaded to")) from error
    if is_public:
        raise UserError(
            f"{title} is there and public; make it private in its settings, name "
            "another repository, or leave --private out."
        )
    if ignored:
        logging.warning("%s keeps its own %s; a new one is not uploaded.", title, CARD)
    try:
        api.upload_folder(
            repo_id=name,
            folder_path=folder,
            commit_message="Upload a model of albert-tf",
            ignore_patterns=ignored,
            delete_patterns=[*_REPLACED],
        )
    except refused as error:
        raise UserError(reason_of(library, title, error, "uploaded to")) from error
    return str(address)


def _has_foreign_card(library, api, name):
    """Returns whether the repository has a card that somebody else wrote."""
    try:
        path = api.hf_hub_download(name, CARD)
    except library.errors.LocalEntryNotFoundError:
        raise  # The hub did not answer.
    except library.errors.EntryNotFoundError:
        return False
    return MARK.encode() not in pathlib.Path(path).read_bytes()
