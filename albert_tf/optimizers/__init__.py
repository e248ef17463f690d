"""Optimizers and learning-rate schedules, by name."""

import importlib
import inspect
import math

from albert_tf.errors import UserError

# Resolved on first use: code that only needs the names must not wait for Keras.
OPTIMIZERS = {"lamb": "adam.LAMB", "adamw": "adam.AdamW", "muon": "muon.Muon"}
SCHEDULES = {
    "polynomial": "schedules.WarmupPolynomialDecay",
    "cosine": "schedules.WarmupCosineDecay",
    "constant": "schedules.WarmupConstant",
    "wsd": "schedules.WarmupStableDecay",
}
MODULES = {
    name: f"{__name__}.{module}"
    for module, name in (
        home.split(".") for home in (*OPTIMIZERS.values(), *SCHEDULES.values())
    )
}
"""The module of each class."""
_OFFICIAL_BATCH_SIZE = 4096
_LEAST_LEFT = 0.5  # share of the rate that must remain after a warm-up


def __getattr__(name):
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(MODULES[name]), name)


def create_optimizer(
    name,
    learning_rate,
    num_train_steps,
    num_warmup_steps=0,
    lr_schedule="polynomial",
    start_warmup_step=0,
    learning_rate_factors=None,
    also_excluded=(),
    gradient_factors=None,
    hyperparameters=None,
):
    """Returns an optimizer with its schedule.

    Args:
        name: a key of `OPTIMIZERS`.
        learning_rate: the rate at the end of the warm-up.
        num_train_steps: the step at which the decay ends.
        num_warmup_steps: steps of linear warm-up.
        lr_schedule: a key of `SCHEDULES`; the official one is polynomial.
        start_warmup_step: steps before the warm-up, at rate 0.
        learning_rate_factors, also_excluded, gradient_factors: see `MomentsOptimizer`.
        hyperparameters: a dict of further arguments of the optimizer or schedule, such
            as `weight_decay_rate` or `power`.

    Raises:
        UserError: neither the optimizer nor the schedule has a hyperparameter.
    """
    optimizer_class = __getattr__(OPTIMIZERS[name].split(".")[1])
    schedule_class = __getattr__(SCHEDULES[lr_schedule].split(".")[1])
    own = _own_hyperparameters(optimizer_class)
    of_schedule = _own_hyperparameters(schedule_class)
    hyperparameters = hyperparameters or {}
    for key in hyperparameters:
        if key not in (*own, *of_schedule):
            raise UserError(
                f"{key!r} is no hyperparameter of {name} and {lr_schedule}; they have "
                f"{', '.join(sorted({*own, *of_schedule}))}."
            )
    schedule = schedule_class(
        initial_learning_rate=learning_rate,
        num_train_steps=num_train_steps,
        num_warmup_steps=num_warmup_steps,
        start_warmup_step=start_warmup_step,
        **{k: v for k, v in hyperparameters.items() if k in of_schedule},
    )
    _warn_of_a_jump(schedule, lr_schedule)
    return optimizer_class(
        learning_rate=schedule,
        learning_rate_factors=learning_rate_factors,
        also_excluded=also_excluded,
        gradient_factors=gradient_factors,
        **{k: v for k, v in hyperparameters.items() if k in own},
    )


def _warn_of_a_jump(schedule, name):
    """Logs a line if the rate drops by more than half at the end of the warm-up."""
    end = schedule.start_warmup_step + schedule.num_warmup_steps
    left = float(schedule.decay(float(end))) if schedule.num_warmup_steps else 1.0
    if left < _LEAST_LEFT:
        # Imported here, since `import albert_tf` is to change nothing in its process.
        from absl import logging

        logging.warning(
            "The warm-up ends at step %d of %d, where the rate jumps to %.1f%% of its "
            "peak: --lr_schedule=%s counts from step 0; shorten the warm-up.",
            end,
            schedule.num_train_steps,
            100 * left,
            name,
        )


def _own_hyperparameters(kind):
    """Lists the numeric and boolean arguments of a class and its bases.

    It leaves out the arguments that `create_optimizer` takes itself.
    """
    taken = inspect.signature(create_optimizer).parameters
    return [
        parameter.name
        for base in kind.__mro__
        if base.__module__.startswith(__name__) and "__init__" in vars(base)
        for parameter in inspect.signature(base).parameters.values()
        if parameter.name not in taken and type(parameter.default) in (bool, int, float)
    ]


def scaled_learning_rate(learning_rate, batch_size):
    """Scales a learning rate for batches of 4096 rows to `batch_size`.

    LAMB's rate grows with the square root of the batch size (You et al., arXiv
    1904.00962, section 4; the authors' advice for ALBERT).
    """
    return learning_rate * math.sqrt(batch_size / _OFFICIAL_BATCH_SIZE)
