"""A data set for pretraining: its files, and the descriptions of their folders."""

import concurrent.futures
import fnmatch
import functools
import os
from typing import Any
from typing import NoReturn

import tensorflow as tf
from absl import logging

from albert_tf.display.progress import Progress
from albert_tf.errors import UserError
from albert_tf.io import checksums
from albert_tf.io import storage
from albert_tf.tokenization.tokenizer import Tokenizer
from data_pipeline.records import dataset_info
from data_pipeline.records.dataset_info import PERMUTATION
from data_pipeline.text import input_files

# Entries that must agree in data sets which are read together.
_ALIKE = (
    "kind",
    "max_pairs_per_row",
    "max_seq_length",
    "masking",
    "sentence_objective",
)
# A bucket takes tens of milliseconds to answer; more readers are no faster on a disk.
_QUESTIONS = 16
_READERS = 4
_DIGITS = 16  # of a digest
_AGAIN = "copy the file again, or make the data again."


class DataSet:
    """The files of create_pretraining_data, or of the official script.

    Args:
        input_file: a comma-separated list of TFRecord files, globs and folders. A
            folder stands for the files that its dataset_info.json lists or, without
            one, all files with `.tfrecord` in their names. Repeated files are read
            once.

    Attributes:
        paths: list of the files' paths, in the order of `input_file`.
        descriptions: dict of each folder to the contents of its dataset_info.json,
            None for a folder without one.

    Raises:
        UserError: a file does not exist, a description is invalid, or a file without
            one holds no records.
    """

    def __init__(self, input_file: str) -> None:
        self.paths = input_files.find(input_file, _of_pattern, "pretraining data")
        self.descriptions = _describe(self.paths)
        self._name = input_file
        others = [p for p in self.paths if not self.descriptions[os.path.dirname(p)]]
        with concurrent.futures.ThreadPoolExecutor(_QUESTIONS) as pool:
            list(pool.map(_check_records, others))

    @property
    def described(self) -> dict[str, dict[str, Any]]:
        """The existing descriptions, by folder."""
        return {folder: info for folder, info in self.descriptions.items() if info}

    @functools.cached_property
    def digest(self) -> str | None:
        """The identity of the contents, wherever they are; None without descriptions.

        It covers the descriptions of the files in use, including checksums, and the
        order of the files.
        """
        if not self.described:
            return None
        names = {folder: [] for folder in self.descriptions}
        for path in self.paths:
            folder, name = os.path.split(path)
            names[folder].append(name)
        facts = [
            info and {**info, "files": _only(names[folder], info["files"])}
            for folder, info in self.descriptions.items()
        ]
        if any(used != sorted(used) for used in names.values()):
            facts += names.values()
        return checksums.of_json(facts)[:_DIGITS]

    @property
    def earlier_digest(self) -> str | None:
        """The digest that earlier versions recorded, over all files in the folders."""
        infos = [self.descriptions[folder] for folder in sorted(self.descriptions)]
        return checksums.of_json(infos)[:_DIGITS] if self.described else None

    @functools.cached_property
    def _facts(self):
        """The facts about each path that a description lists."""
        facts = {}
        for path in self.paths:
            folder, name = os.path.split(path)
            info = self.descriptions[folder]
            if info is None:
                continue
            if name not in info["files"]:
                raise UserError(
                    f"{path} is not among the files that {_info(path)} lists; take it "
                    "out of the folder, or name the others."
                )
            if isinstance(info["files"], dict):
                facts[path] = info["files"][name]
        return facts

    def check(self, objective: str, tokenizer: Tokenizer | None) -> None:
        """Refuses files that are truncated or were made for another model.

        Args:
            objective: "masked_lm" or "permutation_lm".
            tokenizer: the model's; None for records that are already masked.

        Raises:
            UserError: a file has another size than its description says or is not
                listed there, or a data set has another objective or tokenizer.
        """
        self._check_sizes()
        for folder, info in self.described.items():
            _check_objective(info, folder or ".", objective)
            _check_tokenizer(info, folder or ".", tokenizer)

    def _check_sizes(self):
        with (
            storage.os_errors(),
            concurrent.futures.ThreadPoolExecutor(_QUESTIONS) as pool,
        ):
            found = pool.map(tf.io.gfile.stat, self._facts)
            for (path, facts), stat in zip(self._facts.items(), found, strict=True):
                if stat.length != facts["bytes"]:
                    raise UserError(
                        f"{path} has {stat.length:,} bytes, but {_info(path)} says "
                        f"{facts['bytes']:,}; {_AGAIN}"
                    )

    def verify(self) -> None:
        """Reads all files and compares their checksums.

        Raises:
            UserError: a file is missing or has changed since the data was made.
        """
        self._check_sizes()
        if len(self._facts) < len(self.paths):
            logging.warning(
                "%s: %d of %d files have no checksum in a %s and are not verified",
                self._name,
                len(self.paths) - len(self._facts),
                len(self.paths),
                dataset_info.NAME,
            )
        total = sum(facts["bytes"] for facts in self._facts.values())
        with (
            storage.os_errors(),
            Progress(total, "bytes", "verifying data") as progress,
            concurrent.futures.ThreadPoolExecutor(_READERS) as pool,
        ):
            digests = pool.map(checksums.of_file, self._facts)
            for (path, facts), digest in zip(self._facts.items(), digests, strict=True):
                progress.update(progress.done + facts["bytes"])
                if digest != facts["sha256"]:
                    raise UserError(
                        f"{path} has another SHA-256 than {_info(path)} says: its "
                        f"contents have changed; {_AGAIN}"
                    )

    def in_common(self) -> dict[str, Any] | None:
        """Returns the description that all folders share; None if one has none.

        Raises:
            UserError: two descriptions differ in how their records are read.
        """
        infos = list(self.descriptions.values())
        if None in infos:
            logging.warning(
                "%s: there is no %s, so nothing checks that the files fit the "
                "tokenizer",
                ", ".join(self.descriptions),
                dataset_info.NAME,
            )
            return None
        for info in infos:
            for name in _ALIKE:
                if info.get(name) != infos[0].get(name):
                    raise UserError(
                        f"The input files belong to data sets that differ in {name}: "
                        f"{infos[0].get(name)} and {info.get(name)}; name the files of "
                        "one."
                    )
        return infos[0]


def _only(names, files):
    """Selects the files of a description, a dict or a list, that have these names."""
    if isinstance(files, dict):
        return {name: facts for name, facts in files.items() if name in names}
    return [name for name in files if name in names]


def _info(path):
    return os.path.join(os.path.dirname(path), dataset_info.NAME)


def _describe(paths):
    folders = dict.fromkeys(map(os.path.dirname, paths))
    return {folder: dataset_info.read(folder) for folder in folders}


def _check_records(path):
    """Refuses a file that is no TFRecord file; TensorFlow's own error names no file."""
    try:
        next(iter(tf.data.TFRecordDataset(path)), None)
    except tf.errors.DataLossError as error:
        raise UserError(
            f"{path} is not a TFRecord file of examples; leave it out, or make it "
            "again."
        ) from error
    except tf.errors.OpError:
        pass  # the reader of all of it reports the mistake


def _of_pattern(pattern):
    with storage.remote_files(pattern) as gfile:
        is_folder = gfile.isdir(pattern)
        return _files_of(pattern) if is_folder else _files_matching(pattern)


def _files_of(folder):
    """Lists the files of a folder's data set; guesses without a description."""
    there = sorted(tf.io.gfile.listdir(folder))
    info = dataset_info.read(folder)
    if info is None:
        paths = [os.path.join(folder, name) for name in there if ".tfrecord" in name]
        return list(filter(_may_hold_records, paths))
    _check_present(folder, info["files"], there)
    return [os.path.join(folder, name) for name in sorted(info["files"])]


def _files_matching(pattern):
    """Lists the files of a name or glob; refuses a glob that would miss one."""
    paths = input_files.matching(pattern)
    descriptions = {} if paths == [pattern] else _describe(paths)
    for folder, info in descriptions.items():
        names = fnmatch.filter(info["files"] if info else [], os.path.basename(pattern))
        there = [name for place, name in map(os.path.split, paths) if place == folder]
        _check_present(folder, names, there)
    return list(filter(_may_hold_records, paths))


def _check_present(folder, names, there):
    missing = sorted({*names} - {*there})
    if missing:
        raise UserError(
            f"{os.path.join(folder, dataset_info.NAME)} lists {missing[0]}, which is "
            "missing; copy it there, or make the data again."
        )


def _may_hold_records(path):
    name = os.path.basename(path)
    others = (dataset_info.NAME, checksums.NAME)
    if name in others or name.startswith(".") or name.endswith(dataset_info.UNFINISHED):
        return False
    return not tf.io.gfile.isdir(path)


def _check_objective(info, where, objective):
    made_for = "permutation_lm" if info["kind"] == PERMUTATION else "masked_lm"
    if made_for != objective:
        raise UserError(
            f"The data set in {where} was made with --objective={made_for}, but this "
            f"run trains with --objective={objective}; pass "
            f"--objective={made_for} and a configuration for it, or make the data with "
            f"--objective={objective}."
        )


def _check_tokenizer(info, where, tokenizer):
    """Refuses data from another tokenizer; warns about data that predates the check."""
    if tokenizer is None:
        if info["kind"] in ("dynamic", PERMUTATION):
            raise UserError(
                f"The data set in {where} is masked while training, which needs the "
                "vocabulary: pass --spm_model_file or --vocab_file (in Python, "
                "tokenizer)."
            )
        return
    made_with = info["tokenizer"]["fingerprint"]
    if made_with == tokenizer.fingerprint():
        return
    earlier = tokenizer.earlier_fingerprints()
    if made_with not in earlier:
        raise UserError(
            f"The data set in {where} was made with another tokenizer "
            f"({_in_words(info['tokenizer'])}) than the model's "
            f"({_in_words(dataset_info.of_tokenizer(tokenizer))}); make it again with "
            "the model's."
        )
    logging.warning("The data set in %s: %s.", where, earlier[made_with])


def _in_words(facts):
    """Describes a tokenizer by its recorded facts, without the fingerprint."""
    unnamed = ("kind", "vocab_size", "fingerprint")
    rules = (f", {name}={facts[name]}" for name in facts if name not in unnamed)
    return f"{facts['kind']}, {facts['vocab_size']} pieces{''.join(rules)}"


def refuse_length(where: str, name: str, made: int, wanted: int) -> NoReturn:
    """Raises a `UserError`: training asks for another length than the data has."""
    raise UserError(
        f"The data set in {where} was made with {name}={made}, but training "
        f"asks for {wanted}; pass {name}={made} or make the data set again."
    )
