"""The data sets of a pretraining run: checked before anything is written."""

import tensorflow as tf
from absl import logging

from albert_tf.engine.stage import Stage
from albert_tf.errors import UserError
from data_pipeline.input_pipeline import describe_data
from data_pipeline.input_pipeline import pretraining_dataset

UNREADABLE = (
    tf.errors.DataLossError,
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
)
"""What TensorFlow raises for records that are damaged, of other lengths or gone."""

_IDS = ("input_ids", "masked_lm_ids")


class PretrainingData:
    """What a run reads.

    Args:
        options: the `PretrainingOptions`.
        phases: its `Phase`s.
        tokenizer: the model's tokenizer.
    """

    def __init__(self, options, phases, tokenizer):
        self._options = options
        self._phases = phases
        self._tokenizer = tokenizer

    @property
    def input_files(self):
        """The files of all phases, as a comma list."""
        return ",".join(dict.fromkeys(phase.input_file for phase in self._phases))

    @property
    def eval_files(self):
        """The files of `evaluation`, as a comma list."""
        return self._options.eval_file or self._phases[-1].input_file

    def check(self, config):
        """Reads a batch of each data set.

        XLA clips ids that are not in the table instead of failing: a model would
        train on data of another vocabulary and nobody would see it.

        Raises:
            UserError: a data set that cannot be read or does not fit the model's
                `AlbertConfig`, or one that is missing.
        """
        options = self._options
        if not options.eval_file and options.eval_steps:
            raise UserError(
                "--eval_steps needs --eval_file, held-out TFRecords "
                "(create_pretraining_data --held_out_fraction writes some)."
            )
        phases = {(p.input_file, p.max_seq_length): p for p in self._phases}
        for phase in phases.values():
            dataset = self._dataset(
                phase.input_file,
                phase,
                options.eval_batch_size,
                options.masked_lm_prob,
                training=False,
            )
            self._check_batch(phase.input_file, dataset, config)
        if options.eval_file:
            self._check_batch(options.eval_file, self._held_out(), config)
            self._check_eval_objective()

    def _check_batch(self, input_file, dataset, config):
        try:
            batch = next(iter(dataset), None)
        except UNREADABLE as error:
            raise unreadable(input_file, error) from error
        if batch is None:
            raise UserError(f"{input_file} holds no sequences; make the data again.")
        largest = max(int(tf.reduce_max(batch[name])) for name in _IDS)
        if largest >= config.vocab_size:
            raise UserError(
                f"{input_file} holds the id {largest}, but "
                f"{self._options.albert_config_file} has vocab_size "
                f"{config.vocab_size}; make the data with the model's vocabulary."
            )

    def _check_eval_objective(self):
        """Refuses held-out sentence labels that mean something else than trained."""
        if self._options.sentence_objective == "none":
            return
        trained = _sentence_objectives(self.input_files)
        if None in trained:
            return
        for held_out in _sentence_objectives(self._options.eval_file):
            if held_out not in (None, *trained):
                raise UserError(
                    f"--eval_file={self._options.eval_file} was made with "
                    f"--sentence_objective={held_out}, but the training data with "
                    f"{trained[-1]}; make both alike, or pass --sentence_objective="
                    "none to leave the sentences out."
                )

    def has_sentence_order(self):
        """Whether sentence pairs are to be told apart, next to the masked LM.

        Raises:
            UserError: the data sets differ in that.
        """
        if self._options.sentence_objective == "none":
            return False
        without = [name == "none" for name in _sentence_objectives(self.input_files)]
        if any(without) and not all(without):
            raise UserError(
                "Some of the data was made with --sentence_objective=none and some was "
                "not; pass --sentence_objective=none to leave the sentences out."
            )
        return not any(without)

    def stages(self):
        """The `Stage`s of training, one a phase, each with an order of its own."""
        return [
            Stage(
                self._dataset(
                    phase.input_file,
                    phase,
                    phase.batch_size,
                    self._options.masked_lm_prob,
                    training=True,
                    number=i,
                ),
                phase.last_step,
                phase.gradient_accumulation_steps,
            )
            for i, phase in enumerate(self._phases)
        ]

    def evaluation(self):
        """Batches of `--eval_file`, of the last phase's lengths; None without it.

        `--do_eval` alone evaluates on the data of training, as the official code does.
        """
        options = self._options
        if not options.eval_file and not options.do_eval:
            return None
        if not options.eval_file:
            logging.warning(
                "--do_eval without --eval_file: the figures are those of data that is "
                "trained on, not of held-out data."
            )
        return self._held_out().take(options.max_eval_steps)

    def _held_out(self):
        """What `evaluation` reads; the masks of static data are those it has."""
        is_dynamic = any(
            info and info["kind"] == "dynamic"
            for info in describe_data(self.eval_files).values()
        )
        return self._dataset(
            self.eval_files,
            self._phases[-1],
            self._options.eval_batch_size,
            self._options.masked_lm_prob if is_dynamic else None,
            training=False,
        )

    def _dataset(
        self, input_file, phase, batch_size, masked_lm_prob, training, number=0
    ):
        return pretraining_dataset(
            input_file,
            self._tokenizer,
            batch_size,
            phase.max_seq_length,
            phase.max_predictions_per_seq,
            self._options.random_seed + number,
            training,
            masked_lm_prob=masked_lm_prob,
        )


def _sentence_objectives(input_file):
    """What each folder's data was made for; None where no description says."""
    infos = describe_data(input_file).values()
    return [info and info["sentence_objective"] for info in infos]


def unreadable(input_file, error):
    """The `UserError` for what TensorFlow says of damaged records."""
    return UserError(
        f"{input_file} cannot be read as TFRecords of --max_seq_length and "
        f"--max_predictions_per_seq ({error.message.splitlines()[0]}); a file is "
        "damaged, or of other lengths: make it again or pass its own."
    )
