"""Flags of a pretraining run's data, and of the objective learned from it."""

import dataclasses
import functools

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import changeable
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.errors import UserError

SECOND = "second_phase_"
"""Prefix of the flags of a second phase."""
# Only a run that begins its data anew may have another value.
_of_the_data = functools.partial(option, may_change=RESTART_DATA)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepFlags:
    """Steps."""

    train_batch_size: int = _of_the_data(
        "Number of sequences in a step, over all devices.", 4096, minimum=1
    )
    num_train_steps: int = changeable("Number of training steps.", 125000, minimum=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PhaseFlags(StepFlags):
    """Data and batches.

    Steps with one data set, one length of sequences and one batch size, of which
    `num_train_steps`, counted from the start of the run, is the last.
    """

    input_file: str = _of_the_data(
        "TFRecord files to train on: names, globs and folders, separated by commas."
    )
    max_seq_length: int | None = _of_the_data(
        "Length of a sequence in tokens; by default the data's length, or 512 where "
        "the data does not say.",
        None,
        minimum=1,
    )
    max_predictions_per_seq: int | None = _of_the_data(
        "Number of predictions in a sequence; by default the data's number, or 20 "
        "where the data does not say.",
        None,
        minimum=1,
    )
    gradient_accumulation_steps: int = changeable(
        "Number of parts in which a batch is computed, one after the other, to save "
        "memory.",
        1,
        minimum=1,
    )

    @property
    def lengths(self):
        """The numbers of tokens and of predictions of a sequence."""
        return self.max_seq_length, self.max_predictions_per_seq


@dataclasses.dataclass(frozen=True, kw_only=True)
class SecondPhaseFlags:
    """Second phase: changes in the middle of a run."""

    first_phase_steps: int = changeable(
        "Step at which the second phase begins; 0 trains in one phase. The second "
        "phase takes over what its own flags do not set; data of its own brings its "
        "own lengths. Held-out data has the lengths of the last phase.",
        0,
        minimum=0,
    )
    second_phase_input_file: str | None = altered(
        PhaseFlags,
        "input_file",
        default=None,
        help="TFRecord files of the second phase: names, globs and folders, separated "
        "by commas.",
    )
    second_phase_max_seq_length: int | None = altered(
        PhaseFlags,
        "max_seq_length",
        help="Length of a sequence in the second phase, in tokens.",
    )
    second_phase_max_predictions_per_seq: int | None = altered(
        PhaseFlags,
        "max_predictions_per_seq",
        help="Number of predictions in a sequence of the second phase.",
    )
    second_phase_train_batch_size: int | None = altered(
        PhaseFlags,
        "train_batch_size",
        default=None,
        help="Number of sequences in a step of the second phase, over all devices.",
    )
    second_phase_gradient_accumulation_steps: int | None = altered(
        PhaseFlags,
        "gradient_accumulation_steps",
        default=None,
        help="Number of parts in which a batch of the second phase is computed, one "
        "after the other.",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataFlags(PhaseFlags, SecondPhaseFlags):
    """Objective and evaluation of a run."""

    objective: str = option(
        "Objective. masked_lm: ALBERT; replaced_tokens: ALBERT as ELECTRA's "
        "discriminator, which finds the guesses of a small generator; permutation_lm: "
        "XLNet, with the memory that its configuration asks for.",
        "masked_lm",
        ("masked_lm", "replaced_tokens", "permutation_lm"),
    )
    masked_lm_prob: float | None = _of_the_data(
        "Share of the tokens to predict, for data made with --masking=dynamic; by "
        "default the share that the data was made for, which held-out data keeps.",
        None,
        minimum=0,
        maximum=1,
    )
    final_masked_lm_prob: float | None = _of_the_data(
        "Share of the tokens to predict at the last step; from --masked_lm_prob at the "
        "first on, the share of each step lies on a line to it. By default it stays.",
        None,
        minimum=0,
        maximum=1,
    )
    max_gram: int = _of_the_data(
        "Longest span that XLNet predicts, in tokens; 1 predicts single tokens.",
        5,
        minimum=1,
    )
    sentence_objective: str = changeable(
        "Task on two segments. data: what the data was made for "
        "(sentence order, next sentence or nothing); none: nothing, only the masked "
        "LM is trained.",
        "data",
        ("data", "none"),
    )
    eval_any_objective: bool = changeable(
        "Evaluate on --eval_file even if it was made for another sentence objective "
        "than the training data, as in the paper's table 5.",
        False,
    )
    eval_file: str | None = changeable(
        "Held-out TFRecord files to evaluate on: names, globs and folders, "
        "separated by commas.",
        None,
    )
    eval_batch_size: int = changeable(
        "Number of sequences in an evaluation batch.", 64, minimum=1
    )
    max_eval_steps: int = changeable(
        "Largest number of batches in an evaluation.", 100, minimum=1
    )
    batch_ramp_steps: int = _of_the_data(
        "Number of steps in which the batch grows to --train_batch_size: it has 1, "
        "2, 4 and so on of the --gradient_accumulation_steps parts; 0 starts with "
        "the full size.",
        0,
        minimum=0,
    )
    verify_data: bool = changeable(
        "Read all data files before the first step and compare their checksums with "
        "dataset_info.json; their sizes are always compared.",
        False,
    )
    random_seed: int = _of_the_data(
        "Seed of the weights, the order of the data and dropout.",
        12345,
        minimum=0,
        maximum=2**32 - 1,
    )

    @property
    def most_masked(self):
        """The largest share of the tokens to predict at any step; None: the data's."""
        shares = self.masked_lm_prob, self.final_masked_lm_prob
        return max((share for share in shares if share is not None), default=None)

    def masked_share(self, first_step):
        """Makes the rule of the share of tokens to predict, from a step on.

        Args:
            first_step: number of steps before the first batch.

        Returns:
            A function from the number of a batch, a float64 scalar, to a share; None
            without `--final_masked_lm_prob`.
        """
        first, last = self.masked_lm_prob, self.final_masked_lm_prob
        if last is None:
            return None
        slope = (last - first) / max(self.num_train_steps - 1, 1)
        return lambda number: first + slope * (number + first_step)

    @property
    def second_phase(self):
        """Values of the second phase other than the first's, by names of flags."""
        values = {
            name.removeprefix(SECOND): value
            for name, value in vars(self).items()
            if name.startswith(SECOND)
        }
        return {name: value for name, value in values.items() if value is not None}

    def phases(self):
        """Plans the phases of the run, each a `PhaseFlags`, in order.

        There is one, and one more with `--first_phase_steps`. `--batch_ramp_steps`
        splits the beginning of the first: its batches have 1, 2, 4 … micro-batches of
        the size that `--train_batch_size` has in the end, each for an equal number of
        steps.

        Raises:
            UserError: flags that do not fit each other.
        """
        first, second = group_of(PhaseFlags, self), self.second_phase
        begin = self.first_phase_steps
        if not begin:
            if second:
                raise UserError(
                    "The --second_phase_ flags need --first_phase_steps, the step at "
                    "which the second phase begins."
                )
            return _ramp(first, self.batch_ramp_steps)
        if not second or begin >= self.num_train_steps:
            raise UserError(
                f"--first_phase_steps={begin} needs a second phase: --num_train_steps "
                f"above it (it is {self.num_train_steps}) and "
                "--second_phase_input_file or other --second_phase_ flags."
            )
        second = dataclasses.replace(first, **second)
        first = dataclasses.replace(first, num_train_steps=begin)
        return [*_ramp(first, self.batch_ramp_steps), second]


def _ramp(phase, steps):
    """Returns the phase, after `steps` of smaller batches if there are any."""
    parts = phase.gradient_accumulation_steps
    if not steps:
        return [phase]
    counts = [2**i for i in range(parts.bit_length()) if 2**i < parts]
    if not counts or phase.train_batch_size % parts:
        raise UserError(
            "--batch_ramp_steps lets the number of micro-batches grow, so it needs "
            f"--gradient_accumulation_steps above 1 (it is {parts}) that divides "
            f"--train_batch_size={phase.train_batch_size}."
        )
    if not len(counts) <= steps < phase.num_train_steps:
        raise UserError(
            f"--batch_ramp_steps={steps} must be at least {len(counts)}, one for each "
            f"batch size, and below {phase.num_train_steps}, where the phase ends."
        )
    ramp = [
        dataclasses.replace(
            phase,
            train_batch_size=phase.train_batch_size // parts * count,
            gradient_accumulation_steps=count,
            num_train_steps=steps * i // len(counts),
        )
        for i, count in enumerate(counts, start=1)
    ]
    return [*ramp, phase]
