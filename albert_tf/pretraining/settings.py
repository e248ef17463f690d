"""Validates and completes the options of a run, once, at the start."""

import dataclasses

from albert_tf.engine.compilation import with_precision
from albert_tf.errors import UserError
from albert_tf.objectives.flags import GeneratorFlags
from albert_tf.objectives.flags import LayersFlags
from data_pipeline.data_set import DataSet
from data_pipeline.input_pipeline import lengths_of

RESTART_ADVICE = (
    "leave --final_masked_lm_prob out, and give --masked_lm_prob the share to go on "
    "with"
)
"""Advice for a run with a masking schedule that restarts its data."""
_OFFICIAL_LENGTHS = {"max_seq_length": 512, "max_predictions_per_seq": 20}
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
    ("replaced_tokens",): tuple(
        field.name for field in dataclasses.fields(GeneratorFlags)
    ),
    ("permutation_lm",): ("max_gram", "decay_relative_biases"),
}
# Flags that require another flag.
_NEEDS = {
    "final_masked_lm_prob": "masked_lm_prob",
    "eval_steps": "eval_file",
    "init_from_group0": "init_checkpoint",
    "init_layers": "init_checkpoint",
    "teacher_layers": "teacher",
}
# A run with a budget has one phase, and one process, which measures its steps.
_NOT_WITH_A_BUDGET = {
    "num_train_steps": None,
    "first_phase_steps": None,
    "batch_ramp_steps": None,
    "distribution_strategy": "multi_worker",
}


def resolve(options):
    """Fills in the lengths of the data and the precision of `PretrainingOptions`.

    Raises:
        UserError: flags contradict each other, or the data's metadata is unreadable.
    """
    _refuse_contradictions(options)
    return with_precision(with_lengths(options))


def _refuse_contradictions(options):
    """Refuses flags that would have no effect, or an unexpected one."""
    given = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != field.default
    }
    if not (options.do_train or options.do_eval):
        raise UserError("There is nothing to do; pass --do_train or --do_eval.")
    for objectives, names in _FLAGS_OF.items():
        for name in names if options.objective not in objectives else ():
            if name in given:
                raise UserError(
                    f"--{name}={given[name]} needs --objective="
                    f"{' or '.join(objectives)}, but this run has "
                    f"--objective={options.objective}; leave one of the two out."
                )
    for name, other in _NEEDS.items():
        if name in given and not given.get(other):
            raise UserError(f"--{name} needs --{other}.")
    for name, value in _NOT_WITH_A_BUDGET.items():
        if options.train_minutes and name in given and value in (None, given[name]):
            raise UserError(
                f"--train_minutes={options.train_minutes:g} fixes the number of steps "
                f"of one phase, which one process measures; leave --{name} out, or "
                "--train_minutes."
            )
    if "final_masked_lm_prob" in given and options.restart_data:
        raise UserError(
            "--restart_data reads the data from its first batch, at which the share of "
            f"tokens would be {options.masked_lm_prob:g} again; {RESTART_ADVICE}."
        )


def with_lengths(options):
    """Fills in the lengths that `PretrainingOptions` leave open from the data.

    Data without metadata gets the official defaults. A second phase has its own lengths
    only if it has its own data.

    Raises:
        UserError: there is no such data.
    """
    first = {
        **_OFFICIAL_LENGTHS,
        **described_lengths(options.input_file, options.most_masked),
        **_given(options, _OFFICIAL_LENGTHS),
    }
    second = {}
    if options.second_phase_input_file:
        file, masked = options.second_phase_input_file, options.most_masked
        found = described_lengths(file, masked).items()
        # Values equal to the first phase's stay unset.
        second = {f"second_phase_{n}": value for n, value in found if value != first[n]}
        second |= _given(options, second)
    return dataclasses.replace(options, **first, **second)


def described_lengths(input_file, masked_lm_prob):
    """Reads the lengths that the data was made with: `{flag: value}`; {} if unknown.

    Raises:
        UserError: there is no such file, or its metadata is invalid.
    """
    for info in DataSet(input_file).described.values():
        return lengths_of(info, masked_lm_prob)
    return {}


def _given(options, names):
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
