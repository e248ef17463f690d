"""Training settings: flags of every command that trains, and the engine's options."""

import dataclasses
import re
from collections.abc import Callable

from albert_tf.cli.command_line import changeable
from albert_tf.cli.command_line import option
from albert_tf.engine.resumption import IdentityEntry
from albert_tf.errors import UserError

_STRATEGIES = ("auto", "cpu", "mirrored", "multi_worker", "tpu")
_PRECISIONS = ("float32", "bfloat16", "float16", "auto")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceFlags:
    """Devices that train."""

    distribution_strategy: str = option(
        "Devices to train on. auto: all GPUs, or the CPU if there are none; mirrored: "
        "all GPUs of this machine; multi_worker: the processes that TF_CONFIG lists.",
        "auto",
        _STRATEGIES,
    )
    use_tpu: bool | None = option(
        "Official spelling of --distribution_strategy=tpu; if false, --tpu_name has "
        "no effect.",
        None,
    )
    tpu_name: str | None = changeable(
        "Name or address of the TPU to train on; local on a TPU VM.", None
    )
    tpu_zone: str | None = changeable(
        "Zone of the TPU; by default the zone of this machine.", None
    )
    gcp_project: str | None = changeable(
        "Google Cloud project of the TPU; by default the project of this machine.", None
    )

    @property
    def asks_tpu(self):
        """True if a flag names a TPU, even if flags contradict each other."""
        return (
            self.distribution_strategy == "tpu"
            or bool(self.use_tpu)
            or (bool(self.tpu_name) and self.use_tpu is None)
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecutionFlags:
    """Computation of a model."""

    mixed_precision: str = option(
        "Type in which the layers compute; weights, losses and the optimizer stay "
        "in float32. auto: the fastest one that the devices multiply.",
        "float32",
        _PRECISIONS,
    )
    depth_loop: bool = option(
        "Compile layers that share weights only once, as a loop.", False
    )
    rematerialize: bool = option(
        "Keep only the inputs of the layers and compute the rest again for the "
        "gradients, which takes less memory and more time.",
        False,
    )

    @property
    def execution(self):
        """The constructor arguments of a model; its weights are float32 in any case."""
        mixed = self.mixed_precision != "float32"
        return {
            "dtype": f"mixed_{self.mixed_precision}" if mixed else self.mixed_precision,
            "depth_loop": self.depth_loop,
            "rematerialize": self.rematerialize,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainerFlags:
    """Output, checkpoints and trackers."""

    output_dir: str = changeable(
        "Folder to write the model, its checkpoints and its reports to."
    )
    save_checkpoints_steps: int = changeable(
        "Number of steps from one checkpoint to the next.", 5000, minimum=1
    )
    keep_checkpoint_max: int = changeable(
        "Number of checkpoints to keep; 0 keeps all.", 5, minimum=0
    )
    iterations_per_loop: int = changeable(
        "Largest number of steps in one call of the training loop; the program "
        "shows its progress and obeys signals between two calls.",
        1000,
        minimum=1,
    )
    track: str | None = changeable(
        "Trackers that follow the run beside TensorBoard: wandb, mlflow, or both "
        "separated by a comma. A continued run goes on in the same tracked run.",
        None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportFlags:
    """Reports."""

    histogram_steps: int = changeable(
        "Number of steps from one recording of every variable's gradient norm, "
        "weight norm and trust ratio for TensorBoard to the next; 0 records none.",
        0,
        minimum=0,
    )
    profile_steps: str | None = changeable(
        "Range of steps to trace into the folder profile in --output_dir, written "
        "as first:end.",
        None,
    )
    peak_teraflops: float | None = changeable(
        "Peak speed of one device, in 1e12 operations per second, for the utilisation "
        "in the log; well-known GPUs and TPUs need no number.",
        None,
        minimum=0,
    )

    def profile_range(self):
        """Parses `profile_steps`: (first, end), or None without a range.

        Raises:
            UserError: the flag is malformed, or the range is empty.
        """
        text = self.profile_steps
        if text is None:
            return None
        match = re.fullmatch(r"(\d+):(\d+)", text)
        if not match or int(match[1]) >= int(match[2]):
            raise UserError(
                f"--profile_steps={text} is not a range of steps; expected first:end "
                "with first below end, such as 100:110."
            )
        return int(match[1]), int(match[2])


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainerOptions(TrainerFlags, ReportFlags):
    """Length of a run, its steps, evaluations and reports."""

    num_train_steps: int
    """Total number of optimizer steps."""
    eval_steps: int = 0
    """Steps between two held-out evaluations; 0 for the end only."""
    eval_at_start: bool = True
    """Also evaluate before the very first step."""
    best_metric: str | None = None
    """Held-out metric that selects the best model."""
    lower_is_better: bool = False
    """True if the lowest value of that metric is the best."""
    patience: int = 0
    """Number of evaluations without improvement that ends training; 0 for never."""
    identity: tuple[IdentityEntry, ...] = ()
    """The run's identity, which must be unchanged for the run to continue."""
    restart_data: bool = False
    """Go on with other data, from its beginning."""
    clip_norm: float = 1.0
    """Largest global norm of the gradients; official `optimization.py`."""
    use_xla: bool = True
    """Compile forward and backward, and the update, with XLA."""
    xla_beside_products: bool = False
    """Without `use_xla`: compile the activations and the update, each by itself."""
    seed: int = 12345
    """Seed of dropout."""
    max_bad_steps: int = 20
    """So many steps in a row that are not finite end the run."""
    flops_per_token: Callable[[float], float] | None = None
    """A function from a row's tokens to a step's FLOPs per token."""
    peak_flops: float | None = None
    """Peak FLOPs per second of all devices together."""
    evaluated: str = "held out"
    """The data that evaluations use, a name in `display.plots.COLOURS`."""
