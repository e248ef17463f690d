"""The flags of models that are served."""

import dataclasses

from albert_tf.cli.command_line import option
from albert_tf.exit_rule import EXIT_RULES


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedExitFlags:
    """Answers before the last layer."""

    exit_rule: str | None = option(
        "Condition under which a model that was fine-tuned with --early_exit answers "
        "early; none: at full depth. By default the one kept with the model.",
        None,
        ("none", *EXIT_RULES),
    )
    exit_threshold: float | None = option(
        "Number of the condition, in place of the one kept with the model.",
        None,
        minimum=0,
    )
    exit_tolerance: float | None = option(
        "Change below which patience takes two predicted numbers for the same, in "
        "place of the one kept with the model.",
        None,
        minimum=0,
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class ColumnFlags:
    """Columns of a labelled table."""

    text_column: str = option(
        "Column of --eval_file that holds the text, or the first of two texts.",
        "sentence",
    )
    text_pair_column: str | None = option(
        "Column of --eval_file that holds the second text.", None
    )
    label_column: str = option("Column of --eval_file that holds the label.", "label")
