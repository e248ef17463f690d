"""A data set for pretraining: its shards, and the description beside them."""

import collections
import dataclasses
import json
import os

import tensorflow as tf
from absl import logging

from albert_tf.cli.command_line import group_of
from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io.folder_lock import folder_lock
from data_pipeline.options import DataOptions
from data_pipeline.options import RecordFlags
from data_pipeline.options import check
from data_pipeline.records import dataset_info
from data_pipeline.shards.resuming import FinishedShards
from data_pipeline.shards.resuming import remove_leftovers
from data_pipeline.text import quality
from data_pipeline.text.formats import WITHOUT_TEXT

# Options that no shard depends on.
_CHANGE_NOTHING = {"workers", "max_unknown", "output_file"}


def make(options, write_shards):
    """Makes a data set; takes the arguments of `create_pretraining_data`."""
    check(options)
    files = options.files()
    records = group_of(RecordFlags, options)
    records.masking_options()  # A bad vocabulary is reported before any work.
    paths = shard_paths(options)
    folder = folder_of(paths["train"])
    quality.check_sample(records, options.max_unknown, files)
    try:
        tf.io.gfile.makedirs(folder)
        with folder_lock(folder):
            return _create(options, records, files, paths, write_shards)
    except (tf.errors.OpError, OSError) as error:
        reason = getattr(error, "message", None) or error.strerror or error
        raise UserError(
            f"The data set {options.output_file} cannot be made: {reason}."
        ) from error


def _create(options, records, files, paths, write_shards):
    directories = {split: folder_of(paths[split]) for split in paths}
    digest = _digest(options, records, files, paths["train"])
    done = FinishedShards(paths, directories["train"], digest)
    for split, directory in directories.items():
        tf.io.gfile.makedirs(directory)
        remove_leftovers(paths[split])
    waiting = [k for k in range(len(paths["train"])) if done.parts(k) is None]
    try:
        write_shards(records, files, paths, waiting, done.mark)
    finally:
        for split_paths in paths.values():
            remove_leftovers(split_paths)
    totals = _finish(options, records, paths, directories, done)
    _summarize(totals, paths)
    quality.warn(sum(totals.values(), collections.Counter()), records, files)
    return totals


def _finish(options, records, paths, directories, done):
    """Describes the shards, once they are all there; returns their counts."""
    parts = [done.parts(shard) for shard in range(len(paths["train"]))]
    if None in parts:
        raise UserError(
            f"{paths['train'][parts.index(None)]} changed or vanished while the data "
            "set was made; run the command again to make it again."
        )
    totals = _totals(parts, paths)
    # Refused data stay, for the same command with another --max_unknown.
    counts = sum(totals.values(), collections.Counter())
    quality.refuse(counts, records, options.max_unknown)
    if not totals["train"]["sequences"]:
        done.forget()
        for path in (path for split_paths in paths.values() for path in split_paths):
            tf.io.gfile.remove(path)
        raise UserError(_why_nothing(options, totals))
    for split, directory in directories.items():
        if totals[split]["sequences"]:
            names = map(os.path.basename, paths[split])
            facts = (part[split]["file"] for part in parts)
            held = dict(zip(names, facts, strict=True))
            dataset_info.write(directory, records, totals[split], held)
    done.forget()
    return totals


def _why_nothing(options, totals):
    held_out = totals.get("held_out", {}).get("documents")
    if held_out:
        return (
            f"--held_out_fraction={options.held_out_fraction} took all {held_out} "
            f"documents of {options.input_file} and left none to train on; lower it."
        )
    without = totals["train"][WITHOUT_TEXT]
    if without:
        return (
            f"{options.input_file} holds no text: {without} JSON lines lack the field "
            f"{options.text_field!r}; name the right one with --text_field."
        )
    if options.objective == "permutation_lm":
        return (
            f"{options.input_file} holds too little text for a stream: "
            f"{totals['train']['text tokens']} tokens in {options.num_shards} file(s), "
            f"for sequences of {options.max_seq_length}; pass more text, a smaller "
            "--max_seq_length or fewer --num_shards."
        )
    return f"{options.input_file} holds no text to make sequences of."


def shard_paths(options):
    """Returns dict of split to the list of its files' paths."""
    names = [name.strip() for name in options.output_file.split(",") if name.strip()]
    if not names:
        raise UserError(f"--output_file={options.output_file} names no file; name one.")
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    if repeated:
        raise UserError(
            f"--output_file names {repeated[0]} twice; name each file once."
        )
    if len(names) > 1 and options.num_shards not in (1, len(names)):
        raise UserError(
            f"--output_file names {len(names)} files but --num_shards is "
            f"{options.num_shards}; pass one of the two."
        )
    if len(names) == 1 and options.num_shards > 1:
        stem, extension = os.path.splitext(names[0])
        count = options.num_shards
        names = [f"{stem}-{k:05d}-of-{count:05d}{extension}" for k in range(count)]
    paths = {"train": names}
    if options.held_out_fraction:
        paths["held_out"] = [
            os.path.join(os.path.dirname(name), "held_out", os.path.basename(name))
            for name in names
        ]
    return paths


def folder_of(paths):
    """Returns the folder of the files of a split; they must lie in one."""
    directories = {os.path.dirname(path) for path in paths}
    if len(directories) > 1:
        raise UserError(
            "--output_file names files in several directories; name all of them in one."
        )
    return directories.pop() or "."


def _digest(options, records, files, paths):
    """Names all that a shard depends on, so that shards of another run are not taken.

    The folder that holds the shards may be another one: it was moved.
    """
    names = {field.name for field in dataclasses.fields(DataOptions)} - _CHANGE_NOTHING
    values = {name: getattr(options, name) for name in names}
    for name, default in (("across_documents", True), ("break_sentences", False)):
        if values[name] == default:  # as versions without the flag did
            del values[name]
    values["files"] = [
        (*file, tf.io.gfile.stat(file.path).mtime_nsec) for file in files
    ]
    values["tokenizer"] = records.tokenizer.fingerprint()
    values["token_counts"] = records.token_counts
    values["shards"] = list(map(os.path.basename, paths))
    return checksums.of_bytes(json.dumps(values, sort_keys=True).encode())


def _totals(parts, paths):
    totals = {split: collections.Counter() for split in paths}
    for part in parts:
        for split, total in totals.items():
            counts = part[split]["counts"]
            total.update(counts)
            total["empty shards"] += not counts.get("sequences")
    return totals


def _summarize(totals, paths):
    for split, counts in totals.items():
        repeats = ""
        if repeated := counts["tokens repeated"]:
            repeats = f" ({repeated} of them repeats, of broken sentences)"
        logging.info(
            "%s: %d sequences, %d tokens%s, from %d documents, in %d files",
            split,
            counts["sequences"],
            counts["tokens"],
            repeats,
            counts["documents"],
            len(paths[split]),
        )
        if counts["empty shards"]:
            logging.warning(
                "%s: %d of %d files are empty; there is too little text for so many "
                "files",
                split,
                counts["empty shards"],
                len(paths[split]),
            )
