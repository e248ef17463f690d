"""dataset_info.json: the description of a directory of shards."""

import os
import reprlib

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import ChecksummedFolder
from albert_tf.io.whole_folder import require_whole
from data_pipeline.text import quality

PERMUTATION = "permutation"
"""The kind of data for a permutation language model."""

_KINDS = ("static", "dynamic", "packed", PERMUTATION)
NAME = "dataset_info.json"
UNFINISHED = ".incomplete"
"""Suffix of unfinished files."""
SCHEMA_VERSION = 1
_RESULTS = ("documents", "sentences", "sequences", "tokens", "label 1", "rows")
_SHOWN = (*_RESULTS, *quality.COUNTS)
_COUNTS = _RESULTS[:4]

MASKING = {
    "masked_lm_prob": 0.15,
    "ngram": 3,
    "favor_shorter_ngram": True,
    "do_whole_word_mask": True,
    "do_permutation": False,
}
"""The fields of `MaskingOptions` that a description holds, with example values."""
_EXAMPLE = {
    "max_seq_length": 512,
    "max_predictions_per_seq": 77,
    # Objectives list them (`albert_tf.objectives.masked_lm`).
    "sentence_objective": "sop",
    "tokenizer": {
        "kind": "sentencepiece",
        "fingerprint": "0123456789abcdef",
        "vocab_size": 30000,
        "do_lower_case": True,
    },
}


def check_description(path, info):
    """Refuses a description that its readers could not use.

    Raises:
        UserError: it names the file, the mistake in it and the expected value.
    """
    files, kind = info.get("files"), info.get("kind")
    if not isinstance(files, dict | list) or not all(map(storage.is_name, files)):
        _refuse(path, "files", files, "names of files beside it")
    if kind not in _KINDS:
        _refuse(path, "kind", kind, f"one of {', '.join(_KINDS)}")
    example = dict(_EXAMPLE)
    if kind == "packed":
        example["max_pairs_per_row"] = 16
    if kind != PERMUTATION:
        example["masking"] = MASKING
    if isinstance(files, dict):
        # A file without records has no bytes.
        facts = {"bytes": 0, "sha256": "0123456789abcdef"}
        example["files"] = dict.fromkeys(files, facts)
    _check_like(path, info, example)


def _check_like(path, value, example, place=""):
    """Refuses a value that has another type than the example or is out of range."""
    if isinstance(example, dict):
        for name, part in example.items():
            found = value.get(name) if isinstance(value, dict) else None
            # The name of a file may hold a line break.
            name = name if name.isprintable() else repr(name)
            _check_like(path, found, part, f"{place}.{name}" if place else name)
        return
    if isinstance(example, float):
        fits = type(value) in (int, float) and 0 <= value <= 1
    else:
        fits = type(value) is type(example)
        if fits and type(example) is int:
            fits = value >= min(example, 1)  # an example of 0 allows 0
    if not fits:
        _refuse(path, place, value, f"a value such as {example!r}")


def _refuse(path, place, value, expected):
    found = "nothing" if value is None else reprlib.repr(value)
    raise UserError(
        f"{path} holds {found} for {place}, expected {expected}; copy it "
        "again from where the data was made, or make the data again."
    )


def write(directory, options, of_objective, counts, files):
    """Writes the description of a finished data set.

    Args:
        directory: where the shards lie.
        options: the `DataOptions` that made them.
        of_objective: the objective's dict about its records, the kind first.
        counts: dict of total counts over all shards.
        files: dict from each shard's name to its bytes, records and sha256.
    """
    info = {
        "schema_version": SCHEMA_VERSION,
        **of_objective,
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


def _results(options, counts):
    sequences, rows = counts["sequences"], counts["rows"]
    full_rows = counts["tokens"] / options.max_seq_length
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
        "special_cases": {n: c for n, c in sorted(counts.items()) if n not in _SHOWN},
    }


def read(directory):
    """Returns the description of the data set in `directory`, or None.

    Its `files` are a dict from names to facts (bytes, records, sha256), or a list of
    names if an earlier version wrote it.

    Raises:
        UserError: the description is invalid or gone.
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
