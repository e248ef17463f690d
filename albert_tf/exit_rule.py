"""Rules by which a text leaves the encoder before the last layer, and their flags."""

import dataclasses
import math

from albert_tf.cli.command_line import altered
from albert_tf.cli.command_line import option
from albert_tf.errors import UserError

EXIT_HEADS = ("shared", "per_layer")
"""Heads of the layers: the last one's for all, or one for each."""
EXIT_RULES = {"patience": 3, "entropy": 0.3, "probability": 0.9}
"""Thresholds that each rule has where none is given."""


@dataclasses.dataclass(frozen=True)
class ExitRule:
    """The condition under which a layer's answer is final.

    Attributes:
        name: "patience": the prediction has not changed for `threshold` layers (PABEE,
            Zhou et al., arXiv 2006.04152); "entropy": the probabilities have less, in
            nats (DeeBERT, Xin et al., arXiv 2004.12993); "probability": the most
            probable label has more.
        threshold: a number of layers, an entropy above 0, or a probability between 0
            and 1; None for the one of `EXIT_RULES`.
        tolerance: the change below which "patience" takes two predicted numbers for the
            same.

    Raises:
        UserError: there is no such rule, or a number is out of range.
    """

    name: str
    threshold: float | None = None
    tolerance: float = 0.1

    def __post_init__(self):
        if self.name not in EXIT_RULES:
            raise UserError(
                f"There is no exit rule {self.name!r}; choose from "
                f"{', '.join(EXIT_RULES)}."
            )
        if self.threshold is None:
            object.__setattr__(self, "threshold", EXIT_RULES[self.name])
        for name in ("threshold", "tolerance"):
            value = getattr(self, name)
            is_number = type(value) in (int, float) and math.isfinite(value)
            if not is_number or value <= 0:
                raise UserError(
                    f"The exit rule's {name} must be a number above 0, got {value!r}."
                )
        if self.name == "patience" and self.threshold != int(self.threshold):
            raise UserError(
                f"Patience is a whole number of layers, got {self.threshold}."
            )
        if self.name == "probability" and self.threshold >= 1:
            raise UserError(
                f"The probability at which a text leaves must be below 1, got "
                f"{self.threshold}."
            )

    def check_fits(self, kind, layers):
        """Refuses a rule by which no text would ever leave a model.

        Args:
            kind: what its outputs mean, one of `models.labels.LABEL_KINDS`.
            layers: how many it has.

        Raises:
            UserError: it says why.
        """
        if self.name != "patience" and kind == "regression":
            raise UserError(
                f"The exit rule {self.name} needs probabilities, but the model "
                "predicts a number; take patience."
            )
        if self.name == "patience" and self.threshold >= layers:
            raise UserError(
                f"No text leaves {layers} layers with a patience of "
                f"{self.threshold:g}; take a number below {layers}."
            )


def exit_rule_of(values):
    """Returns an `ExitRule` of one, or of its fields by name; None of None.

    Raises:
        UserError: as `ExitRule`.
    """
    if values is None or isinstance(values, ExitRule):
        return values
    try:
        return ExitRule(**values)
    except TypeError as error:
        raise UserError(
            f"exit_rule={values!r}: expected the name, the threshold and the tolerance "
            "of a rule."
        ) from error


def asked_rule(stored, asked):
    """Returns the rule by which a model is served.

    Args:
        stored: the model's `ExitRule`, or None.
        asked: None for that; "none" for answers at full depth; an `ExitRule`; or some
            of its fields by name, of which the rule stored has the others.

    Raises:
        UserError: as `exit_rule_of`.
    """
    if asked is None or asked == "none":
        return None if asked else stored
    is_part = isinstance(asked, dict) and stored is not None
    if is_part and asked.get("name", stored.name) == stored.name:
        asked = {**dataclasses.asdict(stored), **asked}
    return exit_rule_of(asked)


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
        "Condition to leave. patience: the prediction did not change for so many "
        "layers; entropy: the probabilities have less; probability: the best one is "
        "larger. It is kept with the model.",
        "patience",
        tuple(EXIT_RULES),
    )
    exit_threshold: float | None = option(
        "Number of --exit_rule; by default "
        f"{', '.join(f'{value} ({rule})' for rule, value in EXIT_RULES.items())}.",
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
        """Returns the constructor arguments of a model that is to leave early.

        Raises:
            UserError: as `ExitRule`.
        """
        rule = ExitRule(self.exit_rule, self.exit_threshold, self.exit_tolerance)
        return {"exit_heads": self.exit_heads, "exit_rule": rule}

    def check_early_exit(self):
        """Refuses flags that would have no effect, or a rule that makes no sense.

        Raises:
            UserError: it names the flag.
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
        """The flags as `exit_rule.asked_rule` takes them."""
        if self.exit_rule == "none":
            return "none"
        fields = {
            "name": self.exit_rule,
            "threshold": self.exit_threshold,
            "tolerance": self.exit_tolerance,
        }
        return {k: value for k, value in fields.items() if value is not None} or None
