"""Flags for early exits, and the poolings that flags offer."""

import dataclasses

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError
from albert_tf.exit_rule import EXIT_HEADS
from albert_tf.exit_rule import EXIT_RULES
from albert_tf.exit_rule import ExitRule

POOLINGS = ("mean", "cls", "pooler")
"""Ways to pool the vectors of tokens into one vector of the text."""
WINDOW_POOLINGS = ("mean", "max")
"""Ways to pool the outputs of a text's windows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EarlyExitFlags:
    """Answers before the last layer."""

    early_exit: bool = option(
        "Train a head after each layer, so that easy inputs may leave early.", False
    )
    exit_heads: str = option(
        "Heads of --early_exit: one for each layer, or the last one's for all.",
        "per_layer",
        EXIT_HEADS,
    )
    exit_rule: str = option(
        "Condition to leave. "
        + "; ".join(f"{name}: {rule.condition}" for name, rule in EXIT_RULES.items())
        + ". It is kept with the model.",
        "patience",
        tuple(EXIT_RULES),
    )
    exit_threshold: float | None = option(
        "Number of --exit_rule; by default "
        + ", ".join(f"{rule.default} ({name})" for name, rule in EXIT_RULES.items())
        + ".",
        None,
        minimum=0,
    )
    exit_tolerance: float = option(
        "Change below which patience takes two predicted numbers for the same.",
        0.1,
        minimum=0,
    )
    early_exit_distillation: float = option(
        "Weight, in the loss of each earlier layer, of the distance of its answer to "
        "the last one's; 0 leaves it out.",
        0.0,
        minimum=0,
    )

    def exit_arguments(self):
        """Returns the constructor arguments of a model with early exits.

        Raises:
            UserError: see `ExitRule`.
        """
        rule = ExitRule(self.exit_rule, self.exit_threshold, self.exit_tolerance)
        return {"exit_heads": self.exit_heads, "exit_rule": rule}

    def check_early_exit(self):
        """Refuses flags that would have no effect, and invalid rules.

        Raises:
            UserError: a flag is refused; the message names it.
        """
        self.exit_arguments()
        for field in dataclasses.fields(EarlyExitFlags):
            changed = getattr(self, field.name) != field.default
            if changed and not self.early_exit:
                raise UserError(f"--{field.name} needs --early_exit; add it.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedExitFlags:
    """Answers before the last layer."""

    exit_rule: str | None = altered(
        EarlyExitFlags,
        "exit_rule",
        default=None,
        choices=("none", *EXIT_RULES),
        help="Condition under which a model that was fine-tuned with --early_exit "
        "answers early; none: at full depth. By default the one kept with the model.",
    )
    exit_threshold: float | None = altered(
        EarlyExitFlags,
        "exit_threshold",
        help="Number of the condition, in place of the one kept with the model.",
    )
    exit_tolerance: float | None = altered(
        EarlyExitFlags,
        "exit_tolerance",
        default=None,
        help="Change below which patience takes two predicted numbers for the same, in "
        "place of the one kept with the model.",
    )

    @property
    def asked_rule(self):
        """The flags as arguments of `exit_rule.asked_rule`."""
        if self.exit_rule == "none":
            return "none"
        fields = {
            "name": self.exit_rule,
            "threshold": self.exit_threshold,
            "tolerance": self.exit_tolerance,
        }
        return {k: value for k, value in fields.items() if value is not None} or None
