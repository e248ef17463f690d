"""Pretrains ALBERT or XLNet on TFRecords of create_pretraining_data.

  albert-tf pretrain --input_file='data/train*.tfrecord' \\
      --eval_file='data/held_out/*.tfrecord' --spm_model_file=vocab/my_corpus.model \\
      --albert_config_file=configs/albert/base_v2.json --output_dir=my_model

The flags of the official run_pretraining keep their meaning and defaults; new ones
stand beside them. Re-running a command resumes its run exactly where it stopped.

The command writes to --output_dir: the model directory (albert_config.json,
model.weights.h5, the tokenizer, training_info.json), eval_results.txt, history.json
(every held-out evaluation), curves.png (with matplotlib), train/ and eval/ (for
TensorBoard), and checkpoints/. The latter holds the states to resume from, and
best-<step>, the model directory with the best held-out masked LM accuracy.
docs/pretraining.md says more.
"""

import dataclasses
import functools

from albert_tf.checkpoints.flags import ReadingFlags
from albert_tf.checkpoints.flags import obeys_reading_flags
from albert_tf.cli import command_line
from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import changeable
from albert_tf.cli.command_line import group_of
from albert_tf.cli.command_line import option
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.engine.resumption import RESTART_DATA
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import GROUP0
from albert_tf.families.layer_sharing import MEAN
from albert_tf.objectives.flags import GeneratorFlags
from albert_tf.objectives.flags import LayersFlags
from albert_tf.optimizers.flags import OptimizerFlags

SECOND = "second_phase_"
"""Prefix of the flags of a second phase."""
# Official flags that only TPUEstimator needed, or that never had any effect.
_IGNORED = ("masked_lm_budget", "master", "num_tpu_cores")
# A resumed run may change these only if it restarts its data.
_of_the_data = functools.partial(option, may_change=RESTART_DATA)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PhaseFlags:
    """Data and batches.

    A phase is a part of the run with one data set, one sequence length and one batch
    size. `num_train_steps` is its last step, counted from the start of the run.
    """

    train_batch_size: int = _of_the_data(
        "Number of sequences in a step, over all devices.", 4096, minimum=1
    )
    num_train_steps: int = changeable(
        "Number of training steps.", 125000, minimum=1, replaces=("train_minutes",)
    )
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
        """The numbers of tokens and of predictions per sequence."""
        return self.max_seq_length, self.max_predictions_per_seq


# A second-phase twin of each flag of a phase.
_SecondPhaseFlags = dataclasses.make_dataclass(
    "_SecondPhaseFlags",
    [
        (
            f"{SECOND}{field.name}",
            field.type | None,
            altered(
                PhaseFlags,
                field.name,
                default=None,
                help=f"{field.metadata['help']} For the second phase; without it, the "
                "first phase's value or that of its own data.",
            ),
        )
        for field in dataclasses.fields(PhaseFlags)
        if field.name != "num_train_steps"
    ],
    namespace={"__doc__": "Second phase: changes in the middle of a run."},
    frozen=True,
    kw_only=True,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PhasesFlags(PhaseFlags, _SecondPhaseFlags):
    """Phases of a run."""

    first_phase_steps: int = changeable(
        "Step at which the second phase begins; 0 trains in one phase. The second "
        "phase takes over what its own flags do not set; data of its own brings its "
        "own lengths. Held-out data has the lengths of the last phase.",
        0,
        minimum=0,
    )
    batch_ramp_steps: int = _of_the_data(
        "Number of steps in which the batch grows to --train_batch_size: it has 1, "
        "2, 4 and so on of the --gradient_accumulation_steps parts; 0 starts with "
        "the full size.",
        0,
        minimum=0,
    )

    def phases(self):
        """Plans the phases of the run, each a `PhaseFlags`, in order.

        There is one phase, or two with `--first_phase_steps`. `--batch_ramp_steps`
        splits the beginning of the first phase into parts of equally many steps, whose
        batches have 1, 2, 4 … micro-batches until they reach `--train_batch_size`.

        Raises:
            UserError: flags contradict each other.
        """
        first, begin = group_of(PhaseFlags, self), self.first_phase_steps
        changes = {
            name.removeprefix(SECOND): value
            for name, value in vars(self).items()
            if name.startswith(SECOND) and value is not None
        }
        if not begin and not changes:
            return _ramp(first, self.batch_ramp_steps)
        if not changes or not 0 < begin < self.num_train_steps:
            raise UserError(
                f"A second phase needs --{SECOND} flags, which say what changes, and "
                "--first_phase_steps, the step at which it begins: that is "
                f"{begin}, and has to lie between 0 and --num_train_steps="
                f"{self.num_train_steps}."
            )
        second = dataclasses.replace(first, **changes)
        first = dataclasses.replace(first, num_train_steps=begin)
        return [*_ramp(first, self.batch_ramp_steps), second]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataFlags(PhasesFlags):
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
        """The largest fraction of tokens to predict at any step; None: the data's."""
        shares = self.masked_lm_prob, self.final_masked_lm_prob
        return max((share for share in shares if share is not None), default=None)

    def masked_share(self, first_step):
        """Makes the schedule of the fraction of tokens to predict, from a step on.

        Args:
            first_step: number of steps before the first batch.

        Returns:
            A function that maps the number of a batch, a float64 scalar, to a fraction;
            None without `--final_masked_lm_prob`.
        """
        first, last = self.masked_lm_prob, self.final_masked_lm_prob
        if last is None:
            return None
        slope = (last - first) / max(self.num_train_steps - 1, 1)
        return lambda number: first + slope * (number + first_step)


def _ramp(phase, steps):
    """Returns the phase, preceded by `steps` of smaller batches if there are any."""
    if not steps:
        return [phase]
    parts = phase.gradient_accumulation_steps
    if parts == 1 or steps >= phase.num_train_steps:
        raise UserError(
            f"--batch_ramp_steps={steps} lets the number of micro-batches grow, so it "
            f"needs --gradient_accumulation_steps above 1 (it is {parts}) and a phase "
            f"that ends after it, not at step {phase.num_train_steps}."
        )
    counts = [2**i for i in range(parts.bit_length()) if 2**i < parts]
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags(GeneratorFlags, LayersFlags, ExecutionFlags):
    """The model."""

    albert_config_file: str = changeable(
        "Configuration of the model, a JSON file or a name such as albert/base_v2 or "
        "xlnet/base."
    )
    spm_model_file: str | None = changeable(
        "SentencePiece model that the data was made with.", None, names="vocabulary"
    )
    vocab_file: str | None = changeable(
        "WordPiece vocabulary that the data was made with.",
        None,
        names="vocabulary",
        replaces=("spm_model_file",),
    )
    do_lower_case: bool = changeable("Lower letters: the vocabulary is uncased.", True)
    init_checkpoint: str | None = changeable(
        "Model to start from: a model directory, an official archive, a Hugging "
        "Face directory, or one to download, hf://owner/name or the URL of an "
        "archive.",
        None,
        names="model",
    )
    init_layers: str = changeable(
        "Where --init_checkpoint has several layers in the place of one, what that one "
        "takes: the weights of the first of them, or the mean of all.",
        FIRST,
        (FIRST, MEAN),
    )
    init_from_group0: bool = changeable(
        "Give the groups of layers that --init_checkpoint lacks the weights of its "
        "group 0; by default they take those of the layer at the same relative depth.",
        False,
    )

    @property
    def init_rule(self):
        """Rule that maps the layers of `init_checkpoint`; see `move_layers`.

        Raises:
            UserError: two flags set the rule.
        """
        if self.init_from_group0 and self.init_layers != FIRST:
            raise UserError(
                f"--init_from_group0 and --init_layers={self.init_layers} exclude each "
                "other; pass one of them."
            )
        return GROUP0 if self.init_from_group0 else self.init_layers


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingOptions(
    DataFlags,
    ModelFlags,
    TrainerFlags,
    OptimizerFlags,
    ReportFlags,
    DeviceFlags,
    ReadingFlags,
):
    """The flags of `albert-tf pretrain`."""

    do_train: bool = changeable("Train, or continue an interrupted run.", True)
    do_eval: bool = changeable(
        "Evaluate at the end on --eval_file, or on --input_file without one.", False
    )
    train_minutes: float = option(
        "Minutes to train, in place of --num_train_steps: the run measures its steps "
        "first and fixes how many fit; from its first checkpoint on it keeps that "
        "number, which is in train_minutes.json, and resumes exactly. Compiling "
        "counts, evaluation and checkpoints do not. 0: --num_train_steps decides.",
        0.0,
        minimum=0,
        replaces=("num_train_steps",),
    )
    num_warmup_steps: int = changeable(
        "Number of steps in which the learning rate rises linearly.", 3125, minimum=0
    )
    start_warmup_step: int = changeable(
        "Number of steps before the warm-up, with a learning rate of 0.", 0, minimum=0
    )
    scale_learning_rate: bool = changeable(
        "Read --learning_rate as the rate for batches of 4096, and multiply it by the "
        "square root of train_batch_size / 4096.",
        False,
    )
    decay_relative_biases: bool = option(
        "Decay the three biases of XLNet's attention, as the official code does, "
        "unlike all other biases.",
        True,
    )
    dry_run: bool = changeable(
        "Print the plan, measure a few steps and stop without writing anything.", False
    )
    deterministic: bool = changeable(
        "Use only operations that give the same bits in every run; training is slower.",
        False,
    )
    use_xla: bool | None = changeable(
        "Compile the training step with XLA; by default where that is faster: "
        "everywhere but in bfloat16 on a CPU that has units for it, where XLA compiles "
        "activations and the update.",
        None,
    )
    restart_data: bool = changeable(
        "Continue the run, but read the data from its beginning: for data that was "
        "moved, made again or replaced.",
        False,
    )
    eval_steps: int = changeable(
        "Number of steps from one evaluation on --eval_file to the next during "
        "training; 0 evaluates only at the end.",
        0,
        minimum=0,
    )


def main(argv=None):
    """Runs the command."""
    command_line.run(PretrainingOptions, _pretrain, _IGNORED, argv)


@obeys_reading_flags
def _pretrain(options):
    # Imported here, so that --help does not wait for TensorFlow.
    from albert_tf.pretraining.run import pretrain
    from albert_tf.pretraining.run import with_steps
    from albert_tf.pretraining.settings import resolve

    pretrain(with_steps(resolve(options)))
