"""Comparisons: tables of rows that differ in one thing."""

import dataclasses
import re

from albert_tf.cli.command_line import option
from albert_tf.tokenization.parallel import available_cores

MUON = {"optimizer": "muon", "learning_rate": 0.01}
BLOCKS = {
    "official": {},
    "modern": {
        "position_embedding_type": "rotary",
        "norm": "pre",
        "hidden_act": "geglu",
    },
}
"""Changes of a configuration by the name of a block."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Runs."""

    num_train_steps: int = option(
        "Number of steps of a row, unless rows differ in them.", 2000, minimum=1
    )
    train_minutes: float = option(
        "Minutes of each row, which takes the steps that fit into them, in place of "
        "--num_train_steps; 0 trains by steps.",
        0,
        minimum=0,
    )
    block: str = option(
        "Block of the ALBERTs whose rows name none. official: learned positions, norm "
        "after, GELU; modern: rotary, norm before, GeGLU, trained by Muon.",
        "official",
        tuple(BLOCKS),
    )
    blimp_dir: str | None = option(
        "Folder of BLiMP's sets; --table=recipes scores models on the first 50 pairs "
        "of each.",
        None,
    )
    glue_dir: str | None = option(
        "Folder of the GLUE data, on whose SST-2 and CoLA --table=recipes fine-tunes.",
        None,
    )
    num_runs: int = option("Number of seeds of each row.", 3, minimum=1)
    workers: int = option(
        "Number of runs side by side, which divide the cores; 1 where they train on "
        "one GPU.",
        available_cores(),
        minimum=1,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a table: one way to pretrain."""

    name: str
    tiny: dict = dataclasses.field(default_factory=dict)
    """Changes of the tiny configuration."""
    flags: dict = dataclasses.field(default_factory=dict)
    """Flags of run_pretraining.py that differ from the other rows' flags."""
    data: dict = dataclasses.field(default_factory=dict)
    """Flags of create_pretraining_data that differ."""
    block: str | None = None
    """Key of `BLOCKS`; None: the one that `--block` names."""
    starts_from: str | None = None
    """The earlier row whose model, of the same seed, this row starts from."""
    steps: float = 1.0
    """Steps, as a multiple of the other rows' steps."""
    figure: str = ""
    """Figure that the paper reports."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table:
    """Rows that differ in one thing."""

    title: str
    conclusion: str = ""
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
    judged_by_tasks: bool = False
    """True where models are also scored on minimal pairs and fine-tuned on GLUE."""

    @property
    def lengths(self):
        """Of all sequences: tokens, and tokens that are predicted."""
        return self.max_seq_length, self.max_predictions_per_seq


def slug(name):
    """Turns a name into one that can be a file's."""
    return re.sub(r"\W+", "_", name)
