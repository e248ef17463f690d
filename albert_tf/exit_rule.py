"""Rules that decide when a text leaves the encoder before the last layer."""

import dataclasses
import math
import typing

from albert_tf.errors import UserError

EXIT_HEADS = ("shared", "per_layer")
"""Kinds of exit heads: the last layer's head for all layers, or one per layer."""


class Threshold(typing.NamedTuple):
    """The threshold of a rule."""

    default: float
    condition: str  # when a text leaves, for --help
    leaves_above: bool = True  # whether a text leaves above the threshold, or below it
    limit: float = math.inf  # exclusive upper limit of the threshold


EXIT_RULES = {
    "patience": Threshold(3, "the prediction did not change for so many layers"),
    "entropy": Threshold(0.3, "the probabilities have less", leaves_above=False),
    "probability": Threshold(0.9, "the best one is larger", limit=1),
}
"""The rules by name. All but patience compare a layer's `exits.confidence`."""


@dataclasses.dataclass(frozen=True)
class ExitRule:
    """The condition under which a layer's answer is final.

    Attributes:
        name: "patience": the prediction has not changed for `threshold` layers (PABEE,
            Zhou et al., arXiv 2006.04152); "entropy": the entropy of the probabilities,
            in nats, is below it (DeeBERT, Xin et al., arXiv 2004.12993); "probability":
            the most probable label is above it.
        threshold: a number of layers, an entropy above 0, or a probability between 0
            and 1; None for the default in `EXIT_RULES`.
        tolerance: for "patience", the change below which two predicted numbers count as
            equal.

    Raises:
        UserError: the rule is unknown, or a number is out of range.
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
        rule = EXIT_RULES[self.name]
        if self.threshold is None:
            object.__setattr__(self, "threshold", rule.default)
        for name, limit in (("threshold", rule.limit), ("tolerance", math.inf)):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 < value < limit:
                below = "" if limit == math.inf else f" and below {limit:g}"
                raise UserError(
                    f"The exit rule's {name} must be a number above 0{below}, got "
                    f"{value!r}."
                )
        if self.name == "patience" and self.threshold != int(self.threshold):
            raise UserError(
                f"Patience is a whole number of layers, got {self.threshold}."
            )

    def check_fits(self, kind, layers):
        """Refuses a rule with which no text would ever leave a model.

        Args:
            kind: what the outputs mean, one of `models.labels.LABEL_KINDS`.
            layers: the number of the model's layers.
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
    """Makes an `ExitRule` from a dict of its fields; returns other values unchanged."""
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
    """Returns the `ExitRule` for serving a model, or None.

    Args:
        stored: the model's `ExitRule`, or None.
        asked: None for the stored rule; "none" for answers at full depth; an
            `ExitRule`; or a dict of some fields, which replace the stored ones.
    """
    if asked is None or asked == "none":
        return None if asked else stored
    is_part = isinstance(asked, dict) and stored is not None
    if is_part and asked.get("name", stored.name) == stored.name:
        asked = {**dataclasses.asdict(stored), **asked}
    return exit_rule_of(asked)
