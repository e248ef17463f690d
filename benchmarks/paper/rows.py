"""Comparisons: tables of rows that differ in one thing."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a table: one way to pretrain."""

    name: str
    base: str | None = None
    """The configuration that the paper's begins with; None without one."""
    base_changes: dict = dataclasses.field(default_factory=dict)
    tiny: dict = dataclasses.field(default_factory=dict)
    """Changes of the tiny configuration."""
    flags: dict = dataclasses.field(default_factory=dict)
    """Flags of run_pretraining.py that differ from the other rows' flags."""
    data: dict = dataclasses.field(default_factory=dict)
    """Flags of create_pretraining_data that differ."""
    starts_from: str | None = None
    """The name of an earlier row, whose model of the same seed is warm-started."""
    steps: float = 1.0
    """Steps, as a multiple of the other rows' steps."""
    millions: float | None = None
    """Parameters in the paper."""
    figure: str = ""
    """Figure that the paper reports."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Rows that differ in one thing."""

    title: str
    conclusion: str
    """Conclusion of the paper."""
    rows: tuple
    max_seq_length: int = 64
    max_predictions_per_seq: int = 10
    figure: str = "average"
    """Name of the figure in `Row.figure`."""
    objective: str = "masked_lm"
    all_held_out: bool = False
    """True where each row is evaluated on its own held-out data, not the first's."""
    evaluations: dict = dataclasses.field(default_factory=lambda: {"": {}})
    """By name, the flags with which each model is evaluated."""
    equal_compute: bool = False
    """True where rows get steps until they have used as many FLOPs as the first."""
    draws_layers: bool = False
    """True where the distances between the layers' inputs and outputs are drawn."""

    @property
    def lengths(self):
        """Of all sequences: tokens, and tokens that are predicted."""
        return self.max_seq_length, self.max_predictions_per_seq


def slug(name):
    """Turns a name into one that can be a file's."""
    return re.sub(r"\W+", "_", name)
