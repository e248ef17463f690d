"""The official optimizers and learning-rate schedules."""

from albert_tf.errors import UserError
from albert_tf.optimizers.adamw import AdamW
from albert_tf.optimizers.lamb import LAMB
from albert_tf.optimizers.schedules import WarmupPolynomialDecay

__all__ = ["AdamW", "LAMB", "OPTIMIZERS", "WarmupPolynomialDecay", "create_optimizer"]

OPTIMIZERS = {"adamw": AdamW, "lamb": LAMB}


def create_optimizer(
    name, learning_rate, num_train_steps, num_warmup_steps=0, poly_power=1.0
):
    """Returns the official optimizer with the official schedule (`optimization.py`).

    Args:
        name: a key of `OPTIMIZERS`.
        learning_rate: the rate that the warm-up leads to.
        num_train_steps: the step at which the rate reaches 0.
        num_warmup_steps: steps of linear warm-up.
        poly_power: exponent of the decay.

    Raises:
        UserError: `name` is no optimizer of ours.
    """
    if name not in OPTIMIZERS:
        raise UserError(
            f"The optimizer {name!r} is unknown; choose from {sorted(OPTIMIZERS)}."
        )
    schedule = WarmupPolynomialDecay(
        learning_rate, num_train_steps, num_warmup_steps, poly_power
    )
    return OPTIMIZERS[name](learning_rate=schedule)
