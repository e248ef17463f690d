"""Options of a training run: its stages, length, evaluations and reports."""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.flags import TrainerFlags
from albert_tf.engine.resumption import Fact
from albert_tf.engine.train_step import StepOptions


@dataclasses.dataclass(frozen=True)
class Stage:
    """Steps that all have batches of one shape.

    A run is one stage or several, one after the other, with one optimizer and one
    schedule over all: short sequences before long ones, small batches before large.
    """

    dataset: tf.data.Dataset
    """Endless batches of the global batch size, with a checkpointable iterator."""
    last_step: int
    """The step, counted from the start of the run, at which the stage ends."""
    gradient_accumulation_steps: int = 1
    """Micro-batches that a replica's rows are split into."""

    @property
    def batch_size(self):
        """Rows of a batch over all replicas."""
        return tf.nest.flatten(self.dataset.element_spec)[0].shape[0]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainerOptions(TrainerFlags, ReportFlags):
    """Length of a run, its evaluations and reports."""

    num_train_steps: int
    """Optimizer steps in all."""
    eval_steps: int = 0
    """Steps between two held-out evaluations; 0 for the end only."""
    eval_at_start: bool = True
    """Evaluate before the first step of all, too."""
    best_metric: str | None = None
    """Held-out metric, higher is better, by which the best model is kept."""
    patience: int = 0
    """Evaluations without a better one after which training ends; 0 for never."""
    facts: tuple[Fact, ...] = ()
    """Sources of the run, which goes on only where they were the same before."""
    restart_data: bool = False
    """Go on with other data, from its beginning."""
    step: StepOptions = StepOptions()
    """Computation of a step."""
    flops_per_token: Callable[[float], float] | None = None
    """From the tokens of a row to the FLOPs of a step, a token."""
    peak_flops: float | None = None
    """FLOPs a second that all devices together can do at best."""
    evaluated: str = "held out"
    """Data of the evaluations, a name in `display.plots.COLOURS`."""
