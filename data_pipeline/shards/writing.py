"""Writer of one shard: its share of the corpus, from text to records.

A shard depends on the input, the options and its number alone, so any process on
any machine may write it.
"""

import collections
import contextlib
import os
import uuid

import numpy as np
import tensorflow as tf

from albert_tf.io import checksums
from albert_tf.io import storage
from data_pipeline.records.dataset_info import UNFINISHED
from data_pipeline.seeds import derive_fraction
from data_pipeline.sequences import records as pair_records
from data_pipeline.sequences.instances import window_of
from data_pipeline.text import quality
from data_pipeline.xlnet import records as stream_records

# Instances are shuffled within a window of about a million tokens, and streams are as
# long, which bounds the memory of a worker.
_WINDOW_CHARACTERS = 4_194_304
OBJECTIVES = {"masked_lm": pair_records, "permutation_lm": stream_records}
"""Modules by `--objective`: `records` makes records of a window, `describe` names the
options that decide on them."""


def write_shard(options, files, shard, paths, report):
    """Writes shard number `shard`, to temporary names first.

    Args:
        options: `DataOptions`.
        files: list of `corpus.File`.
        shard: int, which share of the corpus to take.
        paths: dict of split ("train", perhaps "held_out") to list of all paths.
        report: called with (bytes read, tokens written) since its last call.

    Returns:
        A dict of split to a dict: `counts`, and `file`, its bytes, records and sha256.

    Raises:
        UserError: a file cannot be read.
        OSError, tf.errors.OpError: one cannot be written.
    """
    reader = options.reader(files)
    splits = {
        name: _Split(options, name, shard, split_paths[shard])
        for name, split_paths in paths.items()
    }
    reported = 0
    try:
        for document in reader.documents(shard, len(paths["train"])):
            split = splits[_split_of(document.key, options)]
            if split.add(document.segments):
                report(reader.bytes_read - reported, split.write_window())
                reported = reader.bytes_read
        for split in splits.values():
            report(reader.bytes_read - reported, split.write_window())
            reported = reader.bytes_read
            split.close()
    finally:
        for split in splits.values():
            split.discard()
    splits["train"].counts.update(reader.counts)
    return {
        name: {"counts": dict(split.counts), "file": split.facts}
        for name, split in splits.items()
    }


def _split_of(key, options):
    held_out = derive_fraction(options.random_seed, "held out", key)
    return "held_out" if held_out < options.held_out_fraction else "train"


def temporary_name(path):
    """Returns a name beside `path` to write to, which no other process uses.

    A worker that outlives its run, on this machine or another, must not write into
    the file of the rerun.
    """
    return f"{path}.{uuid.uuid4().hex}{UNFINISHED}"


class _Split:
    """The training or the held-out part of a shard."""

    def __init__(self, options, name, shard, path):
        self._options = options
        self._tokenizer = options.tokenizer
        is_official = options.word_boundaries == "pieces"
        self._word_starts = self._tokenizer.word_starts(is_official)
        self._seed = (options.random_seed, name, shard)
        self._passes = options.passes if name == "train" else 1
        self._path = path
        self._temporary = temporary_name(path)
        self._writer = tf.io.TFRecordWriter(self._temporary)
        self._documents = []
        self._characters = 0
        self._windows = 0
        self.counts = collections.Counter()
        self.facts = None

    def add(self, segments):
        """Takes a document; returns whether the window is full."""
        self._documents.append(segments)
        self._characters += sum(map(len, segments))
        quality.count_text(segments, self.counts)
        return self._characters >= _WINDOW_CHARACTERS

    def write_window(self):
        """Turns the documents taken so far into records; returns their tokens."""
        window = self._tokenize()
        self._documents = []
        self._characters = 0
        seed = (*self._seed, self._windows)
        self._windows += 1
        before = self.counts["tokens"]
        if len(window.ids):
            records = OBJECTIVES[self._options.objective].records
            for serialized in records(
                window, self._options, self._passes, seed, self.counts
            ):
                self.counts["rows"] += len(serialized)
                for record in serialized:
                    self._writer.write(record)
        return self.counts["tokens"] - before

    def _tokenize(self):
        # A sentence follows the one before it, as after a space.
        segments = [
            self._tokenizer.as_word(segment) if place else segment
            for document in self._documents
            for place, segment in enumerate(document)
        ]
        if self._options.word_boundaries == "spaces":
            ids, lengths, word_starts = _encode_spaced(self._tokenizer, segments)
        else:
            ids, lengths = self._tokenizer.encode_flat(segments)
            word_starts = self._word_starts[ids]
        quality.count_tokens(ids, self._tokenizer.unk_id, self.counts)
        sizes = np.fromiter(map(len, self._documents), np.int64, len(self._documents))
        window = window_of(ids, lengths, word_starts, sizes)
        self.counts["documents"] += len(window.documents) - 1
        self.counts["sentences"] += len(window.segments) - 1
        alone = np.diff(window.documents) == 1
        self.counts["documents of one sentence"] += int(alone.sum())
        return window

    def close(self):
        """Gives the finished file its name once the disk holds it; fills `facts`.

        Without `fsync` a power failure could leave the name and half of the contents.
        """
        self._writer.close()
        self.facts = {
            "bytes": tf.io.gfile.stat(self._temporary).length,
            "records": self.counts["rows"],
            "sha256": checksums.of_file(self._temporary),
        }
        if not storage.is_remote(self._temporary):
            with open(self._temporary, "rb") as file:
                os.fsync(file.fileno())
        tf.io.gfile.rename(self._temporary, self._path, overwrite=True)
        self._writer = None

    def discard(self):
        """Removes the unfinished file, if there is one."""
        if self._writer is None:
            return
        # A full disk fails again; the first error is being reported.
        with contextlib.suppress(tf.errors.OpError):
            self._writer.close()
        with contextlib.suppress(tf.errors.NotFoundError):
            tf.io.gfile.remove(self._temporary)


def _encode_spaced(tokenizer, segments):
    """Encodes like `encode_flat`, and marks the tokens that follow a space."""
    all_ids, lengths, starts = [], [], []
    for text in segments:
        ids, spans = tokenizer.encode_with_offsets(text)
        all_ids.extend(ids)
        lengths.append(len(ids))
        alone = None
        for start, end in spans:
            starts.append(start != alone and (start == 0 or text[start - 1].isspace()))
            # A piece may stand for the space alone; the next one belongs to it.
            alone = start if start == end else None
    return (
        np.array(all_ids, np.int32),
        np.array(lengths, np.int32),
        np.array(starts, np.bool_),
    )
