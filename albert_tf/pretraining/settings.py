"""From the flags of a run to what each of its parts needs: once, at the top."""

import dataclasses
import re

from albert_tf.cli.command_line import group_of
from albert_tf.engine.compilation import with_precision
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.flags import execution_arguments
from albert_tf.engine.options import TrainerOptions
from albert_tf.engine.reporting.reporter import ReportOptions
from albert_tf.engine.resumption import flag_facts
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import GROUP0
from albert_tf.hub.names import local_directory
from albert_tf.optimizers import scaled_learning_rate
from albert_tf.optimizers.flags import OptimizerFlags
from albert_tf.optimizers.rules import RELATIVE_BIASES
from albert_tf.pretraining.data import DataSettings
from albert_tf.pretraining.data import described_lengths
from albert_tf.pretraining.flags import PretrainingOptions
from albert_tf.pretraining.objective_flags import GeneratorFlags
from albert_tf.pretraining.phases import Phase
from albert_tf.pretraining.phases import plan_phases
from albert_tf.pretraining.setup import ModelSettings
from albert_tf.pretraining.setup import OptimizerSettings

_OFFICIAL_LENGTHS = {"max_seq_length": 512, "max_predictions_per_seq": 20}
_FLAGS_OF = {
    ("masked_lm",): ("sentence_objective", "eval_any_objective"),
    ("masked_lm", "replaced_tokens"): (
        "masked_lm_prob",
        "init_layers",
        "init_from_group0",
    ),
    ("replaced_tokens",): [f.name for f in dataclasses.fields(GeneratorFlags)],
    ("permutation_lm",): ("max_gram", "decay_relative_biases"),
}
_SECOND = "second_phase_"
_TERA = 1e12


@dataclasses.dataclass(frozen=True)
class Settings:
    """A run: what is to be done, and what each part of it needs."""

    objective: str
    """A key of `kinds.KINDS`."""
    do_train: bool
    do_eval: bool
    dry_run: bool
    deterministic: bool
    devices: dict
    """Arguments of `strategy_from`."""
    model: ModelSettings
    optimizer: OptimizerSettings
    data: DataSettings
    trainer: TrainerOptions
    use_xla: bool | None
    """None: where that is faster."""
    device_peak_flops: float | None
    """What a device can do at best, in operations a second; None if nobody said."""
    flags: dict
    """All flags as they were resolved, for the record."""


def resolve(options):
    """The `Settings` of `PretrainingOptions`.

    Raises:
        UserError: flags that do not fit each other, or data that cannot be described.
    """
    _check(options)
    options = with_precision(with_lengths(options))
    return Settings(
        objective=options.objective,
        do_train=options.do_train,
        do_eval=options.do_eval,
        dry_run=options.dry_run,
        deterministic=options.deterministic,
        devices=vars(group_of(DeviceFlags, options)),
        model=_model(options),
        optimizer=_optimizer(options),
        data=_data(options),
        trainer=_trainer(options),
        use_xla=options.use_xla,
        device_peak_flops=options.peak_teraflops and options.peak_teraflops * _TERA,
        flags=dataclasses.asdict(options),
    )


def _check(options):
    if not (options.do_train or options.do_eval):
        raise UserError("There is nothing to do; pass --do_train or --do_eval.")
    _refuse_flags_of_others(options)
    rule = _init_rule(options)
    if rule != FIRST and not options.init_checkpoint:
        flag = "init_from_group0" if rule == GROUP0 else "init_layers"
        raise UserError(f"--{flag} needs --init_checkpoint.")
    if options.eval_steps and not options.eval_file:
        raise UserError(
            "--eval_steps needs --eval_file, held-out TFRecords "
            "(create_pretraining_data --held_out_fraction writes some)."
        )


def _refuse_flags_of_others(options):
    """Refuses flags that say something about another objective."""
    for objectives, names in _FLAGS_OF.items():
        for name in names if options.objective not in objectives else ():
            value = getattr(options, name)
            if value != getattr(PretrainingOptions, name):
                raise UserError(
                    f"--{name}={value} needs --objective={' or '.join(objectives)}, "
                    "but this run has "
                    f"--objective={options.objective}; leave one of the two out."
                )


def with_lengths(options):
    """`PretrainingOptions` whose lengths are those of the data, where none are given.

    The official defaults, for data that nobody described. A second phase has lengths
    of its own only if it has data of its own.

    Raises:
        UserError: no such data.
    """
    first = {
        **_OFFICIAL_LENGTHS,
        **described_lengths(options.input_file, options.masked_lm_prob),
        **_given(options, _OFFICIAL_LENGTHS),
    }
    options = dataclasses.replace(options, **first)
    if not options.second_phase_input_file:
        return options
    second = described_lengths(options.second_phase_input_file, options.masked_lm_prob)
    # What is as in the first phase stays unsaid.
    second = {f"{_SECOND}{n}": v for n, v in second.items() if v != first[n]}
    return dataclasses.replace(options, **{**second, **_given(options, second)})


def _given(options, names):
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def phases_from(options):
    """The `Phase`s of `PretrainingOptions` that have lengths; see `plan_phases`."""
    first = Phase(
        options.input_file,
        options.max_seq_length,
        options.max_predictions_per_seq,
        options.train_batch_size,
        options.gradient_accumulation_steps,
        options.num_train_steps,
    )
    second = {
        "input_file": options.second_phase_input_file,
        "max_seq_length": options.second_phase_max_seq_length,
        "max_predictions_per_seq": options.second_phase_max_predictions_per_seq,
        "batch_size": options.second_phase_train_batch_size,
        "gradient_accumulation_steps": (
            options.second_phase_gradient_accumulation_steps
        ),
    }
    second = {name: value for name, value in second.items() if value is not None}
    return plan_phases(
        first, second, options.first_phase_steps, options.batch_ramp_steps
    )


def _init_rule(options):
    """The rule of `move_layers`."""
    if options.init_from_group0 and options.init_layers != FIRST:
        raise UserError(
            f"--init_from_group0 and --init_layers={options.init_layers} exclude each "
            "other; pass one of them."
        )
    return GROUP0 if options.init_from_group0 else options.init_layers


def _model(options):
    # A run that does not train evaluates what it finds.
    init_checkpoint = local_directory(options.init_checkpoint)
    found = None if options.do_train else init_checkpoint or options.output_dir
    return ModelSettings(
        config_file=options.albert_config_file,
        vocabulary_file=options.spm_model_file or options.vocab_file,
        do_lower_case=options.do_lower_case,
        init_checkpoint=init_checkpoint,
        init_rule=_init_rule(options),
        trained_model=found,
        execution=execution_arguments(**vars(group_of(ExecutionFlags, options))),
        generator=group_of(GeneratorFlags, options),
    )


def _optimizer(options):
    rate, origin = options.learning_rate, ""
    if options.scale_learning_rate:
        origin = f" = {rate:g} * sqrt({options.train_batch_size} / 4096)"
        rate = scaled_learning_rate(rate, options.train_batch_size)
    return OptimizerSettings(
        flags=group_of(OptimizerFlags, options),
        learning_rate=rate,
        rate_origin=origin,
        num_train_steps=options.num_train_steps,
        num_warmup_steps=options.num_warmup_steps,
        start_warmup_step=options.start_warmup_step,
        also_excluded=() if options.decay_relative_biases else (RELATIVE_BIASES,),
    )


def _data(options):
    return DataSettings(
        objective=options.objective,
        phases=phases_from(options),
        eval_file=options.eval_file,
        eval_batch_size=options.eval_batch_size,
        max_eval_steps=options.max_eval_steps,
        may_evaluate_training_data=options.do_eval,
        eval_any_objective=options.eval_any_objective,
        masked_lm_prob=options.masked_lm_prob,
        max_gram=options.max_gram,
        masked_lm_alone=options.sentence_objective == "none",
        verify_checksums=options.verify_data,
        random_seed=options.random_seed,
    )


def _trainer(options):
    return TrainerOptions(
        output_dir=options.output_dir,
        num_train_steps=options.num_train_steps,
        steps_per_loop=options.iterations_per_loop,
        save_checkpoints_steps=options.save_checkpoints_steps,
        keep_checkpoint_max=options.keep_checkpoint_max,
        eval_steps=options.eval_steps,
        best_metric=f"{options.objective}_accuracy",
        facts=flag_facts(options),
        restart_data=options.restart_data,
        report=ReportOptions(
            histogram_steps=options.histogram_steps,
            profile_steps=profile_range(options.profile_steps),
        ),
    )


def profile_range(text):
    """Turns `"a:b"` into `(a, b)`; None stays None.

    Raises:
        UserError: it is not of this form, or the range is empty.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise UserError(
            f"--profile_steps={text} is not a range of steps; expected first:end with "
            "first below end, such as 100:110."
        )
    return int(match[1]), int(match[2])
