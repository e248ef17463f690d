"""The data sets of a pretraining run, checked before anything is written."""

import contextlib
import dataclasses

import tensorflow as tf
from absl import logging

from albert_tf.engine.device_loop import Stage
from albert_tf.errors import UserError
from albert_tf.objectives.masked_lm import OBJECTIVES
from albert_tf.pretraining.by_objective import KINDS
from data_pipeline.data_set import DataSet
from data_pipeline.records.schema import sentence_on

# TensorFlow's errors for records that are damaged, missing, or of other lengths.
_UNREADABLE = (
    tf.errors.DataLossError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    UnicodeDecodeError,
)

_OFFICIAL_OBJECTIVE = "sop"
_ALONE = "none"


class PretrainingData:
    """The data that a run reads.

    Args:
        flags: the `DataFlags`, with lengths.
        tokenizer: the model's tokenizer.
        vocab_size: the model's vocabulary size, an upper bound of ids; by default the
            tokenizer's.
    """

    def __init__(self, flags, tokenizer, vocab_size=None):
        self._flags = flags
        self._phases = flags.phases()
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size

    @property
    def input_files(self):
        """The files of all phases, separated by commas."""
        return ",".join(dict.fromkeys(phase.input_file for phase in self._phases))

    @property
    def eval_files(self):
        """The files of `evaluation`, separated by commas."""
        return self._flags.eval_file or self._phases[-1].input_file

    def check(self):
        """Reads a batch of each data set; with `--verify_data`, checks all data first.

        Raises:
            UserError: a data set is missing, is unreadable, does not fit the model, or
                has changed since it was made.
        """
        flags = self._flags
        if flags.verify_data:
            files = [self.input_files, flags.eval_file]
            DataSet(",".join(filter(None, files))).verify()
        phases = {(p.input_file, p.lengths): p for p in self._phases}
        for phase in phases.values():
            sizes = phase.input_file, phase, flags.eval_batch_size
            masked = flags.most_masked
            dataset = self._dataset(*sizes, training=False, masked_lm_prob=masked)
            _check_batch(phase.input_file, dataset)
        if flags.eval_file:
            _check_batch(flags.eval_file, self._held_out())
            learns_sentences = KINDS[flags.objective].learns_sentences
            if learns_sentences and flags.sentence_objective != _ALONE:
                self._check_sentence_labels()

    def _check_sentence_labels(self):
        """Checks that held-out data has the sentence objective of the training data."""
        file, trained = self._flags.eval_file, _sentence_objectives(self.input_files)
        if None in trained:
            return
        for name in _sentence_objectives(file):
            # Data without sentence pairs has no labels to compare.
            allowed = self._flags.eval_any_objective and name != _ALONE
            if name not in (None, *trained) and not allowed:
                raise UserError(
                    f"--eval_file={file} was made with --sentence_objective={name}, "
                    f"but the training data with {', '.join(trained)}; make both with "
                    "one objective, pass --sentence_objective=none to train and "
                    "evaluate the masked LM alone, or --eval_any_objective to compare "
                    "two objectives on pairs of sentences."
                )

    def sentence_terms(self):
        """Returns the `HeadTerm`s that the data has labels for, or the masked LM's.

        Raises:
            UserError: the data sets differ in their sentence objective, or it is
                unknown.
        """
        if self._flags.sentence_objective == _ALONE:
            return OBJECTIVES[_ALONE]
        found = _sentence_objectives(self.input_files)
        names = {_OFFICIAL_OBJECTIVE if name is None else name for name in found}
        if len(names) > 1:
            first, second, *_ = sorted(names)
            raise UserError(
                f"Some of the data was made with --sentence_objective={first} and "
                f"some with {second}; pass --sentence_objective=none to train the "
                "masked LM alone."
            )
        (name,) = names
        if name not in OBJECTIVES:
            raise UserError(
                f"{self.input_files} was made with --sentence_objective={name}, which "
                f"this version does not know; make it with {' or '.join(OBJECTIVES)}."
            )
        return OBJECTIVES[name]

    def digests(self):
        """Computes digests that identify the data, whatever its path.

        Returns:
            The digest of the files of all phases in order, None if they have no
            metadata; and the digest that earlier versions recorded, which covers only
            the metadata of the folders.
        """
        data = DataSet(self.input_files)
        return data.digest, data.earlier_digest

    def stages(self):
        """Makes the `Stage`s of training, one per phase, each shuffled differently."""
        starts = [0, *(phase.num_train_steps for phase in self._phases)]
        return [
            Stage(
                self._dataset(
                    phase.input_file,
                    phase,
                    phase.train_batch_size,
                    training=True,
                    number=i,
                    masked_lm_prob=self._flags.most_masked,
                    masked_share=self._flags.masked_share(start),
                ),
                phase.num_train_steps,
                phase.gradient_accumulation_steps,
            )
            for i, (phase, start) in enumerate(zip(self._phases, starts, strict=False))
        ]

    def evaluation(self, on_training_data=False):
        """Makes batches of `--eval_file` in the last phase's lengths; None without it.

        With `on_training_data`, uses the training data instead, as the official code
        does.
        """
        flags = self._flags
        if not flags.eval_file:
            if not on_training_data:
                return None
            logging.warning(
                "--do_eval without --eval_file evaluates on the training data, not on "
                "held-out data."
            )
        return HeldOut(self._held_out().take(flags.max_eval_steps), self.eval_files)

    def _held_out(self):
        """Returns the data of `evaluation`, masked at the rate it was created with.

        Scores of runs with different masking rates are therefore comparable.
        """
        phase = self._phases[-1]
        needed = [
            info["max_predictions_per_seq"]
            for info in DataSet(self.eval_files).described.values()
            if info["kind"] == "dynamic"
        ]
        most = max([phase.max_predictions_per_seq, *needed])
        return self._dataset(
            self.eval_files,
            dataclasses.replace(phase, max_predictions_per_seq=most),
            self._flags.eval_batch_size,
            training=False,
        )

    def _dataset(self, input_file, phase, batch_size, training, number=0, **masked):
        is_first = self._flags.most_masked == self._flags.masked_lm_prob
        return KINDS[self._flags.objective].dataset(
            input_file,
            self._tokenizer,
            batch_size,
            *phase.lengths,
            self._flags.random_seed + number,
            training,
            max_gram=self._flags.max_gram,
            vocab_size=self._vocab_size,
            share_flag="masked_lm_prob" if is_first else "final_masked_lm_prob",
            **masked,
        )


class HeldOut:
    """Batches of a dataset; errors while reading name its files."""

    def __init__(self, dataset, files):
        self._dataset = dataset
        self._files = files

    def __iter__(self):
        with naming_unreadable(self._files):
            yield from self._dataset


def _check_batch(input_file, dataset):
    with naming_unreadable(input_file):
        batch = next(iter(dataset), None)
    if batch is None:
        raise UserError(f"{input_file} holds no sequences; make the data again.")


def _sentence_objectives(input_file):
    """Reads each folder's sentence objective; None if its metadata does not say."""
    infos = DataSet(input_file).descriptions.values()
    return [info and info["sentence_objective"] for info in infos]


@contextlib.contextmanager
def naming_unreadable(input_file):
    """Turns TensorFlow's errors about record files into a `UserError` that names them.

    Raises:
        UserError: the files are missing or damaged, have other lengths, or contain
            numbers out of range.
    """
    try:
        yield
    except _UNREADABLE as error:
        if isinstance(error, tf.errors.DataLossError):
            logging.warning("%s is damaged; searching for the file.", input_file)
            DataSet(input_file).verify()
        # Messages with invalid UTF-8 raise UnicodeDecodeError, which has no `message`.
        reason = getattr(error, "message", str(error)).splitlines()[0]
        raise UserError(
            sentence_on(input_file, error)
            or f"{input_file} cannot be read as TFRecords of these lengths "
            f"({reason}); a file is damaged or has other lengths: make "
            "it again, or pass its --max_seq_length and --max_predictions_per_seq."
        ) from error
