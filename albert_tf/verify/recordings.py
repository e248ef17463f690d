"""Common parts of the comparisons of recorded features."""

import dataclasses
import os

from albert_tf.errors import UserError
from albert_tf.tokenization.loading import is_tokenizer
from albert_tf.tokenization.loading import load_tokenizer

_VOCABULARY = os.path.join("data", "vocab", "albert_en_30k")


@dataclasses.dataclass(frozen=True)
class Compared:
    """Found and expected arrays.

    Attributes:
        prefix: of the names, ending in "/"; "" for the folder itself.
        found, expected: dicts of arrays by name.
        notes: dict of remarks by name.
        weights_limit: how far weights may be off after training.
    """

    prefix: str
    found: dict
    expected: dict
    notes: dict = dataclasses.field(default_factory=dict)
    weights_limit: float = 1e-6


def names_in(folder):
    """Lists NAME of each features_NAME.npz in a folder, sorted."""
    files = os.listdir(folder) if os.path.isdir(folder) else []
    found = [n.removeprefix("features_") for n in files if n.startswith("features_")]
    return sorted(n.removesuffix(".npz") for n in found if n.endswith(".npz"))


def tokenizer_of(directory, vocabulary, do_lower_case):
    """Loads the tokenizer with which recorded features were made.

    Args:
        directory: where they lie.
        vocabulary: the tokenizer's file or folder, or None: the one beside the
            features, or `data/vocab/albert_en_30k` in one of the folders above.
        do_lower_case: whether letters are lowered.

    Raises:
        UserError: there is none.
    """
    if vocabulary is not None:
        return load_tokenizer(vocabulary, do_lower_case)
    if any(map(is_tokenizer, os.listdir(directory))):
        return load_tokenizer(directory, do_lower_case)
    above = os.path.abspath(directory)
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
        if os.path.isdir(os.path.join(above, _VOCABULARY)):
            return load_tokenizer(os.path.join(above, _VOCABULARY), do_lower_case)
    raise UserError(
        f"{directory} has no vocabulary beside its features; name it with "
        "--spm_model_file."
    )
