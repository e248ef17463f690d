"""Optimizers and learning-rate schedules, by name."""

import importlib
import inspect
import math

from albert_tf.errors import UserError

# Resolved on first use: who needs the names of flags must not wait for Keras.
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
"""The module of each class of them."""
_OFFICIAL_BATCH_SIZE = 4096
_LEAST_LEFT = 0.5  # of the rate, after a warm-up


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
        start_warmup_step: steps before the warm-up, at the rate 0.
        learning_rate_factors, also_excluded, gradient_factors: as `MomentsOptimizer`
            takes them.
        hyperparameters: a dict of further arguments of either class, such as
            `weight_decay_rate` of all optimizers, `power` of the polynomial decay.

    Raises:
        UserError: no optimizer or schedule has that name, or neither has such a
            hyperparameter, or one of another type.
    """
    optimizer_class = _registered(OPTIMIZERS, name, "optimizer")
    schedule_class = _registered(SCHEDULES, lr_schedule, "schedule")
    own = _own_hyperparameters(optimizer_class)
    of_schedule = _own_hyperparameters(schedule_class)
    hyperparameters = hyperparameters or {}
    for key, value in hyperparameters.items():
        _check(key, value, {**of_schedule, **own}, f"{name} and {lr_schedule}")
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
    """Logs a line if the rate falls by more than half where the warm-up ends."""
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


def _registered(registry, name, kind):
    if name not in registry:
        raise UserError(f"The {kind} {name!r} is unknown; choose from {[*registry]}.")
    return __getattr__(registry[name].split(".")[1])


def _own_hyperparameters(kind):
    """Returns `{name: default}` of numbers and switches that a class takes.

    The arguments of its bases count; those that `create_optimizer` has itself do not.
    """
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith(__name__) and "__init__" in vars(base):
            for parameter in inspect.signature(base).parameters.values():
                found[parameter.name] = parameter.default
    taken = inspect.signature(create_optimizer).parameters
    return {
        name: default
        for name, default in found.items()
        if name not in taken and type(default) in (bool, int, float)
    }


def _check(name, value, defaults, owners):
    if name not in defaults:
        raise UserError(
            f"{name!r} is no hyperparameter of {owners}; they have "
            f"{', '.join(sorted(defaults))}."
        )
    kind = type(defaults[name])
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or isinstance(value, bool) != (kind is bool):
        raise UserError(f"{name}={value!r}: expected a {kind.__name__}.")


def scaled_learning_rate(learning_rate, batch_size):
    """Returns the rate for `batch_size` where `learning_rate` is good for 4096.

    LAMB's rate goes with the square root of the batch size (You et al., arXiv
    1904.00962, section 4; the authors' advice for ALBERT).
    """
    return learning_rate * math.sqrt(batch_size / _OFFICIAL_BATCH_SIZE)
