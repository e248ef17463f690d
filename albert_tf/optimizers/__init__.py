"""The official optimizers and learning-rate schedules."""

import importlib
import math

from albert_tf.errors import UserError

# Resolved on first use: who needs the names of flags must not wait for Keras.
_HOMES = {
    "AdamW": "albert_tf.optimizers.adamw",
    "LAMB": "albert_tf.optimizers.lamb",
    "WarmupConstant": "albert_tf.optimizers.schedules",
    "WarmupCosineDecay": "albert_tf.optimizers.schedules",
    "WarmupPolynomialDecay": "albert_tf.optimizers.schedules",
}
OPTIMIZERS = {"adamw": "AdamW", "lamb": "LAMB"}
SCHEDULES = {
    "polynomial": "WarmupPolynomialDecay",
    "cosine": "WarmupCosineDecay",
    "constant": "WarmupConstant",
}
_OFFICIAL_BATCH_SIZE = 4096


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def create_optimizer(
    name,
    learning_rate,
    num_train_steps,
    num_warmup_steps=0,
    poly_power=1.0,
    lr_schedule="polynomial",
    start_warmup_step=0,
    learning_rate_factors=None,
    also_excluded=(),
):
    """Returns the official optimizer with the official schedule (`optimization.py`).

    Args:
        name: a key of `OPTIMIZERS`.
        learning_rate: the rate that the warm-up leads to.
        num_train_steps: the step at which the decay ends.
        num_warmup_steps: steps of linear warm-up.
        poly_power: exponent of the polynomial decay.
        lr_schedule: one of `SCHEDULES`; the official one is polynomial.
        start_warmup_step: steps before the warm-up, at the rate 0.
        learning_rate_factors, also_excluded: as `MomentsOptimizer` takes them.

    Raises:
        UserError: `name` is no optimizer of ours, `lr_schedule` no schedule.
    """
    if name not in OPTIMIZERS:
        raise UserError(
            f"The optimizer {name!r} is unknown; choose from {sorted(OPTIMIZERS)}."
        )
    steps = {
        "initial_learning_rate": learning_rate,
        "num_train_steps": num_train_steps,
        "num_warmup_steps": num_warmup_steps,
        "start_warmup_step": start_warmup_step,
    }
    if lr_schedule not in SCHEDULES:
        raise UserError(
            f"The schedule {lr_schedule!r} is unknown; choose from {list(SCHEDULES)}."
        )
    if lr_schedule == "polynomial":
        steps["power"] = poly_power
    schedule = __getattr__(SCHEDULES[lr_schedule])(**steps)
    return __getattr__(OPTIMIZERS[name])(
        learning_rate=schedule,
        learning_rate_factors=learning_rate_factors,
        also_excluded=also_excluded,
    )


def scaled_learning_rate(learning_rate, batch_size):
    """The rate for `batch_size` where `learning_rate` is good for 4096 sequences.

    LAMB's rate goes with the square root of the batch size (You et al., arXiv
    1904.00962, section 4; the authors' advice for ALBERT).
    """
    return learning_rate * math.sqrt(batch_size / _OFFICIAL_BATCH_SIZE)
