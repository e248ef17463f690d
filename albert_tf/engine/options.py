"""How long a training run lasts and what it does on the way."""

import dataclasses

from albert_tf.engine.reporting.reporter import ReportOptions
from albert_tf.engine.train_step import StepOptions


@dataclasses.dataclass(frozen=True)
class TrainerOptions:
    """How long a run lasts and what it does on the way."""

    output_dir: str
    """Folder of checkpoints, history and TensorBoard summaries."""
    num_train_steps: int
    """Optimizer steps in all."""
    steps_per_loop: int = 100
    """Steps between two looks at the run, at most: progress, summaries, signals."""
    save_checkpoints_steps: int = 5000
    """Steps between two checkpoints."""
    keep_checkpoint_max: int = 5
    """Checkpoints to keep; 0 for all."""
    eval_steps: int = 0
    """Steps between two held-out evaluations; 0 for the end only."""
    eval_at_start: bool = True
    """Whether to evaluate before the first step of all, too."""
    best_metric: str | None = None
    """Held-out metric, higher is better, by which the best model is kept."""
    patience: int = 0
    """Evaluations without a better one after which training ends; 0 for never."""
    data: dict = dataclasses.field(default_factory=dict)
    """What the batches are made from, by flag: a run goes on in the same data only."""
    restart_data: bool = False
    """Go on with other data, from its beginning."""
    step: StepOptions = StepOptions()
    """How a step is computed."""
    report: ReportOptions = ReportOptions()
    """What is shown and recorded."""
