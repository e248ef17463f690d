"""Creation of a data set: its shards, which a rerun resumes, and its description."""

import collections
import contextlib
import dataclasses
import json
import os

import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.io.files import write_atomically
from albert_tf.io.folder_lock import folder_lock
from data_pipeline.options import DataOptions
from data_pipeline.records import dataset_info
from data_pipeline.shards.writing import OBJECTIVES
from data_pipeline.text import quality
from data_pipeline.text.corpus import WITHOUT_TEXT

# Options that no shard depends on.
_CHANGE_NOTHING = {"workers", "max_unknown", "output_file"}


def make(options, write_shards):
    """Makes a data set; takes the arguments of `create_pretraining_data`."""
    options.check()
    paths, files = options.paths(), options.files()
    options.masking_options()  # A bad vocabulary is reported before any work.
    folder = os.path.dirname(paths["train"][0]) or "."
    quality.check_sample(options, files)
    try:
        tf.io.gfile.makedirs(folder)
        with folder_lock(folder):
            return _create(options, files, paths, write_shards)
    except (tf.errors.OpError, OSError) as error:
        reason = getattr(error, "message", None) or error.strerror or error
        raise UserError(
            f"The data set {options.output_file} cannot be made: {reason}."
        ) from error


def _create(options, files, paths, write_shards):
    folders = {
        split: os.path.dirname(names[0]) or "." for split, names in paths.items()
    }
    digest = _digest(options, files, paths["train"])
    done = FinishedShards(paths, folders["train"], digest)
    for split, folder in folders.items():
        tf.io.gfile.makedirs(folder)
        _remove_leftovers(folder, paths[split])
    shards = range(len(paths["train"]))
    waiting = [shard for shard in shards if done.parts(shard) is None]
    try:
        write_shards(options, files, paths, waiting, done.mark)
    finally:
        for split, folder in folders.items():
            _remove_leftovers(folder, paths[split])
    parts = [done.parts(shard) for shard in shards]
    if None in parts:
        raise UserError(
            f"{paths['train'][parts.index(None)]} changed or vanished while the data "
            "set was made; run the command again to make it again."
        )
    totals = _totals(parts, paths)
    counts = sum(totals.values(), collections.Counter())
    # Refused shards stay, for the same command with a larger --max_unknown.
    quality.refuse(counts, options)
    if totals["train"]["sequences"]:
        _describe(options, paths, folders, parts, totals)
    done.forget()
    if not totals["train"]["sequences"]:
        for path in (path for split_paths in paths.values() for path in split_paths):
            tf.io.gfile.remove(path)
        raise UserError(_why_nothing(options, totals))
    _summarize(totals, paths)
    quality.warn(counts, options)
    return totals


def _describe(options, paths, folders, parts, totals):
    of_objective = OBJECTIVES[options.objective].describe(options)
    for split, folder in folders.items():
        if totals[split]["sequences"]:
            names = map(os.path.basename, paths[split])
            facts = (part[split]["file"] for part in parts)
            held = dict(zip(names, facts, strict=True))
            dataset_info.write(folder, options, of_objective, totals[split], held)


def _remove_leftovers(folder, paths):
    """Removes the unfinished files of interrupted runs."""
    names = (*map(os.path.basename, paths), dataset_info.NAME)
    for name in tf.io.gfile.listdir(folder):
        if name.startswith(names) and name.endswith(dataset_info.UNFINISHED):
            with contextlib.suppress(tf.errors.NotFoundError):
                tf.io.gfile.remove(os.path.join(folder, name))


def _why_nothing(options, totals):
    counts = totals["train"]
    if counts[WITHOUT_TEXT]:
        return (
            f"{options.input_file} holds no text: {counts[WITHOUT_TEXT]} JSON lines "
            f"lack the field {options.text_field!r}; name the right one with "
            "--text_field."
        )
    held_out = totals.get("held_out", {"documents": 0})["documents"]
    return (
        f"{options.input_file} holds too little text to train on: "
        f"{counts['text tokens']} tokens in {counts['documents']} documents, besides "
        f"{held_out} held out, for {options.num_shards} file(s) of sequences of "
        f"{options.max_seq_length}; pass more text, fewer --num_shards, or a smaller "
        "--max_seq_length or --held_out_fraction."
    )


def _digest(options, files, paths):
    """Hashes everything that a shard depends on, so that only equal shards are kept.

    It leaves out the shards' folder, which may have been moved.
    """
    names = {field.name for field in dataclasses.fields(DataOptions)} - _CHANGE_NOTHING
    values = {name: getattr(options, name) for name in names}
    for name, default in (("across_documents", True), ("break_sentences", False)):
        if values[name] == default:  # as versions without the flag did
            del values[name]
    values["files"] = [(*file, storage.modified_at(file.path)) for file in files]
    values["tokenizer"] = options.tokenizer.fingerprint()
    values["token_counts"] = options.token_counts
    values["shards"] = list(map(os.path.basename, paths))
    return checksums.of_json(values)


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


class FinishedShards:
    """Marks finished shards, one file each, with counts and checksums.

    Args:
        paths: dict of split to the list of its files' paths.
        directory: the folder of the data set.
        digest: identity of everything that a shard depends on.

    Raises:
        UserError: the folder holds a data set, or shards that depend on something
            else.
    """

    def __init__(self, paths, directory, digest):
        self._paths, self._digest = paths, digest
        self._directory = os.path.join(directory, ".unfinished")
        if os.path.islink(self._directory):  # Nothing here makes one.
            os.remove(self._directory)
        if storage.exists(os.path.join(directory, dataset_info.NAME)):
            raise UserError(
                f"{directory} already holds a data set; delete it or choose another "
                f"directory."
            )
        storage.make_folder(self._directory)
        for name in storage.names_in(self._directory):
            mark = self._read(name)
            if mark is not None and mark["of"] != digest:
                raise UserError(
                    f"{directory} holds shards made with other input or flags; delete "
                    f"them and {self._directory}, or choose another directory."
                )

    def _read(self, name):
        """Reads a mark; returns None if it is missing or damaged."""
        path = os.path.join(self._directory, name)
        if not storage.exists(path):
            return None
        try:
            mark = json.loads(storage.read_bytes(path))
            said = checksums.of_json([mark["of"], mark["parts"]])
            return mark if mark["sha256"] == said else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def parts(self, shard):
        """Returns the facts of a finished shard, as `write_shard` returned them.

        Returns:
            A dict of split to a dict; None for an unfinished shard, or if one of its
            files is gone or has another size.
        """
        mark = self._read(f"{shard}.json")
        for split, paths in self._paths.items() if mark else ():
            path, size = paths[shard], mark["parts"][split]["file"]["bytes"]
            if not storage.exists(path) or tf.io.gfile.stat(path).length != size:
                return None
        return mark and mark["parts"]

    def mark(self, shard, parts):
        """Marks a shard as finished, with the facts that `write_shard` returned."""
        said = checksums.of_json([self._digest, parts])
        mark = {"of": self._digest, "parts": parts, "sha256": said}
        path = os.path.join(self._directory, f"{shard}.json")
        write_atomically(path, json.dumps(mark))

    def forget(self):
        """Removes all marks, once the data set is finished."""
        tf.io.gfile.rmtree(self._directory)
