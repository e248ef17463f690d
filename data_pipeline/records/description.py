"""Contents that dataset_info.json must have for its data to be read."""

import re
import reprlib

from albert_tf.errors import UserError

MASKING = (
    "masked_lm_prob",
    "ngram",
    "favor_shorter_ngram",
    "do_whole_word_mask",
    "do_permutation",
)
"""The law of the mask, by the names of `MaskingOptions`."""

PERMUTATION = "permutation"
"""The kind of data that is for a permutation language model."""

_KINDS = ("static", "dynamic", "packed", PERMUTATION)
_SHA256 = re.compile("[0-9a-f]{64}")


def _is_count(value):
    return type(value) is int and value > 0


def _is_size(value):
    return type(value) is int and value >= 0


def _is_share(value):
    return type(value) in (int, float) and 0 <= value <= 1


def _is_power(value):
    return type(value) in (int, float) and 0 < value < float("inf")


def _is_bool(value):
    return type(value) is bool


def _is_text(value):
    return isinstance(value, str)


def _is_sha256(value):
    return _is_text(value) and _SHA256.fullmatch(value) is not None


_COUNT = (_is_count, "a positive whole number")
_SIZE = (_is_size, "a whole number")
_BOOL = (_is_bool, "true or false")
_TEXT = (_is_text, "a string")
_FIELDS = {
    ("kind",): (_KINDS.__contains__, f"one of {', '.join(_KINDS)}"),
    ("max_seq_length",): _COUNT,
    ("max_predictions_per_seq",): _COUNT,
    # Objectives list them (`albert_tf.objectives.masked_lm`).
    ("sentence_objective",): _TEXT,
    ("tokenizer", "kind"): _TEXT,
    ("tokenizer", "fingerprint"): _TEXT,
    ("tokenizer", "vocab_size"): _COUNT,
    ("tokenizer", "do_lower_case"): _BOOL,
}
_OF_MASKS = {
    ("masking", "masked_lm_prob"): (_is_share, "a number from 0 to 1"),
    ("masking", "ngram"): _COUNT,
    ("masking", "favor_shorter_ngram"): _BOOL,
    ("masking", "do_whole_word_mask"): _BOOL,
    ("masking", "do_permutation"): _BOOL,
}
_FACTS = {
    "bytes": _SIZE,
    "records": _SIZE,
    "sha256": (_is_sha256, "a SHA-256 in hexadecimal"),
}


def check_description(path, info):
    """Refuses a description that its readers could not use.

    Args:
        path: the file, for the message.
        info: the dict that it holds.

    Raises:
        UserError: it names the file, the mistake in it and the expected value.
    """
    fields = dict(_FIELDS)
    if info.get("kind") == "packed":
        fields[("max_pairs_per_row",)] = _COUNT
    if info.get("kind") != PERMUTATION:
        fields.update(_OF_MASKS)
        if _get(info, ("masking", "mask_smoothing")) is not None:
            fields.update(_of_smoothing(_get(info, ("tokenizer", "vocab_size"))))
    files = info.get("files")
    if isinstance(files, dict):
        for name in files:
            fields.update({("files", name, fact): _FACTS[fact] for fact in _FACTS})
    elif not isinstance(files, list):
        _refuse(path, ("files",), files, "the names of the files")
    for name in files:
        if not _is_text(name) or not name or "/" in name:
            _refuse(path, ("files",), name, "names of files beside it")
    for keys, (is_good, expected) in fields.items():
        value = _get(info, keys)
        if not is_good(value):
            _refuse(path, keys, value, expected)


def _of_smoothing(vocab_size):
    def are_counts(value):
        good = _is_text(value) and re.fullmatch(r"\d+( \d+)*", value)
        return bool(good) and value.count(" ") + 1 == vocab_size

    return {
        ("masking", "mask_smoothing"): (_is_power, "a number above 0"),
        ("masking", "token_counts"): (are_counts, f"{vocab_size} counts"),
    }


def _get(info, keys):
    for key in keys:
        info = info.get(key) if isinstance(info, dict) else None
    return info


def _refuse(path, keys, value, expected):
    found = "nothing" if value is None else reprlib.repr(value)
    # The name of a file may hold a line break.
    place = ".".join(key if key.isprintable() else repr(key) for key in keys)
    raise UserError(
        f"{path} holds {found} for {place}, expected {expected}; copy it "
        "again from where the data was made, or make the data again."
    )
