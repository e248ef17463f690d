"""Settings of each part of a run, made from its flags once, at the top."""

import dataclasses

from albert_tf.cli.command_line import group_of
from albert_tf.engine.compilation import with_precision
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.engine.flags import TrainerOptions
from albert_tf.engine.resumption import flag_facts
from albert_tf.errors import UserError
from albert_tf.families.layer_sharing import FIRST
from albert_tf.families.layer_sharing import GROUP0
from albert_tf.hub.downloads import shown
from albert_tf.hub.names import with_local_models
from albert_tf.objectives.flags import LayersFlags
from albert_tf.pretraining.by_objective import KINDS
from albert_tf.pretraining.data import described_lengths
from albert_tf.pretraining.data_flags import SECOND
from albert_tf.pretraining.data_flags import DataFlags
from albert_tf.pretraining.plan import check_budget
from albert_tf.pretraining.run_flags import GeneratorFlags
from albert_tf.pretraining.run_flags import ModelFlags
from albert_tf.pretraining.run_flags import RunFlags
from albert_tf.pretraining.run_flags import ScheduleFlags

_OFFICIAL_LENGTHS = {"max_seq_length": 512, "max_predictions_per_seq": 20}
_TO_RESTART = (
    "leave --final_masked_lm_prob out, and give --masked_lm_prob the share to go on "
    "with"
)
_FLAGS_OF = {
    ("masked_lm",): (
        "sentence_objective",
        "eval_any_objective",
        *(field.name for field in dataclasses.fields(LayersFlags)),
    ),
    ("masked_lm", "replaced_tokens"): (
        "masked_lm_prob",
        "final_masked_lm_prob",
        "init_layers",
        "init_from_group0",
    ),
    ("replaced_tokens",): [f.name for f in dataclasses.fields(GeneratorFlags)],
    ("permutation_lm",): ("max_gram", "decay_relative_biases"),
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """A run: its actions, and the settings of each part."""

    run: RunFlags
    devices: DeviceFlags
    model: ModelFlags
    optimizer: ScheduleFlags
    data: DataFlags
    trainer: TrainerOptions
    flags: dict
    """All flags as they were resolved, for the record."""


def resolve(options, num_train_steps=None):
    """Resolves `PretrainingOptions` to `Settings`.

    Args:
        options: `PretrainingOptions`.
        num_train_steps: of a budget; None leaves the flag.

    Raises:
        UserError: flags that do not fit each other, or data that cannot be described.
    """
    _check(options)
    options = with_precision(with_lengths(options))
    if num_train_steps is not None:
        options = dataclasses.replace(options, num_train_steps=num_train_steps)
    return Settings(
        run=group_of(RunFlags, options),
        devices=group_of(DeviceFlags, options),
        model=with_local_models(group_of(ModelFlags, options)),
        optimizer=group_of(ScheduleFlags, options),
        data=group_of(DataFlags, options),
        trainer=TrainerOptions(
            **vars(group_of(TrainerFlags, options)),
            **vars(group_of(ReportFlags, options)),
            num_train_steps=options.num_train_steps,
            eval_steps=options.eval_steps,
            best_metric=KINDS[options.objective].best_metric,
            facts=flag_facts(options, final_masked_lm_prob=_TO_RESTART),
            restart_data=options.restart_data,
        ),
        flags={
            name: shown(value) if isinstance(value, str) else value
            for name, value in dataclasses.asdict(options).items()
        },
    )


def _check(options):
    if not (options.do_train or options.do_eval):
        raise UserError("There is nothing to do; pass --do_train or --do_eval.")
    _refuse_flags_of_others(options)
    check_budget(options)
    rule = options.init_rule
    if rule != FIRST and not options.init_checkpoint:
        flag = "init_from_group0" if rule == GROUP0 else "init_layers"
        raise UserError(f"--{flag} needs --init_checkpoint.")
    if options.final_masked_lm_prob is not None and options.masked_lm_prob is None:
        raise UserError(
            f"--final_masked_lm_prob={options.final_masked_lm_prob:g} needs "
            "--masked_lm_prob, the share at the first step."
        )
    if options.final_masked_lm_prob is not None and options.restart_data:
        raise UserError(
            "--restart_data reads the data from its first batch, at which the share of "
            f"tokens would be {options.masked_lm_prob:g} again; {_TO_RESTART}."
        )
    if options.eval_steps and not options.eval_file:
        raise UserError(
            "--eval_steps needs --eval_file, held-out TFRecords "
            "(create_pretraining_data --held_out_fraction writes some)."
        )
    # Each refuses its flags, here before any work.
    options.phases()
    options.profile_range()
    options.layer_pairs()


def _refuse_flags_of_others(options):
    """Refuses flags that say something about another objective."""
    for objectives, names in _FLAGS_OF.items():
        for name in names if options.objective not in objectives else ():
            value = getattr(options, name)
            if value != getattr(type(options), name):  # its default
                raise UserError(
                    f"--{name}={value} needs --objective={' or '.join(objectives)}, "
                    "but this run has "
                    f"--objective={options.objective}; leave one of the two out."
                )


def with_lengths(options):
    """Fills lengths that `PretrainingOptions` leave open with the lengths of the data.

    Data without a description gets the official defaults. A second phase has lengths
    of its own only if it has data of its own.

    Raises:
        UserError: no such data.
    """
    first = {
        **_OFFICIAL_LENGTHS,
        **described_lengths(options.input_file, options.most_masked),
        **_given(options, _OFFICIAL_LENGTHS),
    }
    options = dataclasses.replace(options, **first)
    if not options.second_phase_input_file:
        return options
    second = described_lengths(options.second_phase_input_file, options.most_masked)
    # What is as in the first phase stays unsaid.
    second = {f"{SECOND}{n}": v for n, v in second.items() if v != first[n]}
    return dataclasses.replace(options, **{**second, **_given(options, second)})


def _given(options, names):
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
