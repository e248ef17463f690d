"""dataset_info.json: the description of a directory of shards."""

import os

from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.io.checksummed_folder import ChecksummedFolder
from albert_tf.io.files import read_json_object
from albert_tf.io.whole_folder import require_whole
from data_pipeline.records.description import MASKING
from data_pipeline.records.description import PERMUTATION
from data_pipeline.records.description import check_description
from data_pipeline.text import quality

NAME = "dataset_info.json"
UNFINISHED = ".incomplete"
"""Ending of names of files that are being written."""
SCHEMA_VERSION = 1
_RESULTS = ("documents", "sentences", "sequences", "tokens", "label 1", "rows")
_SHOWN = (*_RESULTS, *quality.COUNTS)
_COUNTS = _RESULTS[:4]


def write(directory, options, counts, files):
    """Writes the description of a finished data set.

    Args:
        directory: where the shards lie.
        options: the `RecordFlags` that they were made by.
        counts: dict of the counts of all shards together.
        files: dict of the shards' names to `facts_of` each.
    """
    info = {
        **_description(options),
        **_results(options, counts),
        "files": files,
    }
    with ChecksummedFolder(directory) as folder:
        folder.write_json(NAME, info)


def _description(options):
    return {
        "schema_version": SCHEMA_VERSION,
        **_OF_OBJECTIVE[options.objective](options),
        "max_seq_length": options.max_seq_length,
        "word_boundaries": options.word_boundaries,
        "tokenizer": of_tokenizer(options.tokenizer),
        "random_seed": options.random_seed,
        "dupe_factor": options.passes,
    }


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
    return {
        "kind": "packed" if options.pack else options.masking,
        **({"max_pairs_per_row": options.max_pairs_per_row} if options.pack else {}),
        "max_predictions_per_seq": masking.num_predictions,
        "sentence_objective": options.pair_objective,
        "official_sop": options.official_sop,
        **({} if options.across_documents else {"across_documents": False}),
        "short_seq_prob": options.short_seq_prob,
        "masking": {
            **{name: getattr(masking, name) for name in MASKING},
            **_smoothing(masking),
        },
    }


def _smoothing(masking):
    """Returns the smoothing of the choice, if any, and its token counts."""
    if not masking.mask_smoothing:
        return {}
    return {
        "mask_smoothing": masking.mask_smoothing,
        "token_counts": " ".join(map(str, masking.token_counts)),
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
