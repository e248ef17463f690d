"""dataset_info.json: the description of a directory of shards."""

import math
import os
import re
import reprlib

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import require_whole
from data_pipeline.text import quality

PERMUTATION = "permutation"
"""The kind of data that is for a permutation language model."""

_KINDS = ("static", "dynamic", "packed", PERMUTATION)
NAME = "dataset_info.json"
UNFINISHED = ".incomplete"
"""Ending of names of files that are being written."""
SCHEMA_VERSION = 1
_RESULTS = ("documents", "sentences", "sequences", "tokens", "label 1", "rows")
_SHOWN = (*_RESULTS, *quality.COUNTS)
_COUNTS = _RESULTS[:4]


def _is_number(value):
    return type(value) in (int, float)


def _is_text(value):
    return isinstance(value, str)


# What a field has to hold: a test of its value, and the words for it.
_SIZE = (lambda value: type(value) is int and value >= 0, "a whole number")
_COUNT = (lambda value: type(value) is int and value > 0, "a positive whole number")
_SHARE = (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1")
_POWER = (lambda value: _is_number(value) and 0 < value < math.inf, "a number above 0")
_BOOL = (lambda value: type(value) is bool, "true or false")
_TEXT = (_is_text, "a string")
_SHA256 = (
    lambda value: _is_text(value) and re.fullmatch("[0-9a-f]{64}", value),
    "a SHA-256 in hexadecimal",
)
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
MASKING = {
    "masked_lm_prob": _SHARE,
    "ngram": _COUNT,
    "favor_shorter_ngram": _BOOL,
    "do_whole_word_mask": _BOOL,
    "do_permutation": _BOOL,
}
"""The law of the mask, by the names of `MaskingOptions`."""
_FACTS = {"bytes": _SIZE, "records": _SIZE, "sha256": _SHA256}


def check_description(path, info):
    """Refuses a description, the dict of a file, that its readers could not use.

    Raises:
        UserError: it names the file, the mistake in it and the expected value.
    """
    fields = dict(_FIELDS)
    if info.get("kind") == "packed":
        fields[("max_pairs_per_row",)] = _COUNT
    if info.get("kind") != PERMUTATION:
        fields.update({("masking", name): kind for name, kind in MASKING.items()})
        if _get(info, ("masking", "mask_smoothing")) is not None:
            fields.update(_of_smoothing(_get(info, ("tokenizer", "vocab_size"))))
    files = info.get("files")
    if isinstance(files, dict):
        for name in files:
            fields.update({("files", name, fact): _FACTS[fact] for fact in _FACTS})
    elif not isinstance(files, list):
        _refuse(path, ("files",), files, "the names of the files")
    for name in files:
        if not storage.is_name(name):
            _refuse(path, ("files",), name, "names of files beside it")
    for keys, (is_good, expected) in fields.items():
        value = _get(info, keys)
        if not is_good(value):
            _refuse(path, keys, value, expected)


def _of_smoothing(vocab_size):
    def are_counts(value):
        good = _is_text(value) and re.fullmatch(r"\d+( \d+)*", value)
        return good and value.count(" ") + 1 == vocab_size

    return {
        ("masking", "mask_smoothing"): _POWER,
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


def write(directory, options, counts, files):
    """Writes the description of a finished data set.

    Args:
        directory: where the shards lie.
        options: the `RecordFlags` that they were made by.
        counts: dict of the counts of all shards together.
        files: dict of the shards' names to `facts_of` each.
    """
    info = {
        "schema_version": SCHEMA_VERSION,
        **_OF_OBJECTIVE[options.objective](options),
        "max_seq_length": options.max_seq_length,
        "word_boundaries": options.word_boundaries,
        "tokenizer": of_tokenizer(options.tokenizer),
        "random_seed": options.random_seed,
        "dupe_factor": options.passes,
        **_results(options, counts),
        "files": files,
    }
    with ChecksummedFolder(directory) as folder:
        folder.write_json(NAME, info)


def of_tokenizer(tokenizer):
    """Returns a tokenizer's entries in the description: a dict for JSON."""
    return {
        "kind": tokenizer.kind,
        "fingerprint": tokenizer.fingerprint(),
        "vocab_size": tokenizer.vocab_size,
        "do_lower_case": tokenizer.do_lower_case,
        **tokenizer.rules.settings(),
    }


def _of_masked_lm(options):
    masking = options.masking_options()
    law = {name: getattr(masking, name) for name in MASKING}
    if masking.mask_smoothing:
        law["mask_smoothing"] = masking.mask_smoothing
        law["token_counts"] = " ".join(map(str, masking.token_counts))
    return {
        "kind": "packed" if options.pack else options.masking,
        **({"max_pairs_per_row": options.max_pairs_per_row} if options.pack else {}),
        "max_predictions_per_seq": masking.num_predictions,
        "sentence_objective": options.pair_objective,
        "official_sop": options.official_sop,
        **({} if options.across_documents else {"across_documents": False}),
        **({"break_sentences": True} if options.break_sentences else {}),
        "short_seq_prob": options.short_seq_prob,
        "masking": law,
    }


def _of_permutation_lm(options):
    return {
        "kind": PERMUTATION,
        "max_predictions_per_seq": options.predictions,
        "sentence_objective": options.pair_objective,
        "bi_data": options.bi_data,
    }


_OF_OBJECTIVE = {"masked_lm": _of_masked_lm, "permutation_lm": _of_permutation_lm}


def _results(options, counts):
    sequences, rows = counts["sequences"], counts["rows"]
    full_rows = counts["tokens"] / options.max_seq_length
    special = {n: c for n, c in sorted(counts.items()) if n not in _SHOWN}
    results = {
        **{name: counts[name] for name in _COUNTS},
        "fill_rate": round(full_rows / rows, 4),
        "label_1_share": round(counts["label 1"] / sequences, 4),
    }
    if options.pack:
        results["rows"] = rows
        results["fill_rate_unpacked"] = round(full_rows / sequences, 4)
    return {
        "counts": results,
        "shares": quality.shares(counts, options.pair_objective),
        "special_cases": special,
    }


def read(directory):
    """Returns the description of the data set in `directory`, or None.

    Its `files` are a dict of names to `facts_of` each, or a list of names where an
    earlier version has written it.

    Raises:
        UserError: it is no valid description, or is gone.
    """
    require_whole(directory)
    path = os.path.join(directory, NAME)
    if not storage.exists(path):
        return None
    info = read_json_object(path)
    version = info.get("schema_version")
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{path} has schema version {version!r}, expected {SCHEMA_VERSION}: make "
            f"the data set again."
        )
    check_description(path, info)
    return info
