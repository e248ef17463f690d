"""Flags for the optimizer and its schedule, for every command that trains."""

import dataclasses
import json

from albert_tf.cli.command_line import changeable
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.optimizers import OPTIMIZERS
from albert_tf.optimizers import SCHEDULES
from albert_tf.optimizers import create_optimizer


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptimizerFlags:
    """Update of the weights."""

    learning_rate: float = changeable(
        "Learning rate at the end of the warm-up.", 0.00176, minimum=0
    )
    optimizer: str = option(
        "Optimizer that updates the weights. muon: matrices of the blocks along their "
        "orthogonalised momentum, at rates near 0.01, and the rest by AdamW at a tenth "
        "of that.",
        "lamb",
        OPTIMIZERS,
    )
    weight_decay: float = option(
        "Decay of all weights but biases and normalizations.", 0.01, minimum=0
    )
    lr_schedule: str = changeable(
        "Curve on which the learning rate decays. wsd: at the full rate, but for the "
        "last fifth of all steps.",
        "polynomial",
        SCHEDULES,
    )
    poly_power: float = changeable("Exponent of the polynomial decay.", 1.0, minimum=0)
    optimizer_args: str = changeable(
        "Further hyperparameters of the optimizer or schedule, as name=value,…, such "
        "as beta_2=0.98 (adamw, lamb), momentum=0.9 (muon) or cooldown=0.3 (wsd).",
        "",
    )

    def create(self, num_train_steps, num_warmup_steps, **arguments):
        """Creates the optimizer; the arguments are those of `create_optimizer`.

        Raises:
            UserError: neither the optimizer nor the schedule has a hyperparameter.
        """
        hyperparameters = {
            "weight_decay_rate": self.weight_decay,
            **_parsed(self.optimizer_args),
        }
        # Not every schedule has a power; those that do take 1.0 without being told.
        if self.poly_power != OptimizerFlags.poly_power:
            hyperparameters["power"] = self.poly_power
        return create_optimizer(
            self.optimizer,
            self.learning_rate,
            num_train_steps,
            num_warmup_steps,
            self.lr_schedule,
            hyperparameters=hyperparameters,
            **arguments,
        )


def _parsed(text):
    """Parses `name=value,…`, whose values are JSON."""
    values = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            parsed = json.loads(value)
        except json.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, int | float):  # bool, too; a text would be true
            raise UserError(
                f"--optimizer_args={text}: {part!r} is not name=value with a number, "
                "true or false."
            )
        values[name.strip()] = parsed
    return values
