"""Which devices train and how they compute: flags of every command that trains."""

import dataclasses
import functools

from albert_tf.command_line import option
from albert_tf.engine.strategies import STRATEGIES
from albert_tf.engine.strategies import create_strategy
from albert_tf.errors import UserError

_PRECISIONS = ("float32", "bfloat16", "float16")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceFlags:
    """Which devices train."""

    distribution_strategy: str = option(
        "Devices to train on: auto takes all GPUs or the CPU; multi_worker all "
        "processes in TF_CONFIG.",
        "auto",
        STRATEGIES,
    )
    use_tpu: bool | None = option(
        "The same as --distribution_strategy=tpu; if false, --tpu_name has no effect.",
        None,
    )
    tpu_name: str | None = option(
        "Name or address of the TPU to train on; local on a TPU VM.",
        None,
        may_change=True,
    )
    tpu_zone: str | None = option(
        "Zone of the TPU, if not this machine's.", None, may_change=True
    )
    gcp_project: str | None = option(
        "Project of the TPU, if not this machine's.", None, may_change=True
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecutionFlags:
    """How a model is computed."""

    mixed_precision: str = option(
        "What layers compute in; weights, losses and optimizer are float32 always.",
        "float32",
        _PRECISIONS,
    )
    depth_loop: bool = option(
        "Compile layers with the same weights once, as a loop.", False
    )
    rematerialize: bool = option(
        "Keep the inputs of the layers only and compute the rest again for the "
        "gradients: less memory, more time.",
        False,
    )


def strategy_from(
    distribution_strategy, use_tpu=None, tpu_name=None, tpu_zone=None, gcp_project=None
):
    """The strategy that `DeviceFlags`, the arguments, ask for; see `create_strategy`.

    One for all runs of a process: workers and TPUs can be connected only once, and the
    collective operations of a second MirroredStrategy would mix with the first's.

    Raises:
        UserError: as `create_strategy`, or flags that contradict each other.
    """
    name = distribution_strategy
    if use_tpu or (tpu_name and use_tpu is None):
        if name not in ("auto", "tpu"):
            flag = f"--tpu_name={tpu_name}" if tpu_name else "--use_tpu"
            raise UserError(f"{flag} contradicts --distribution_strategy={name}.")
        name = "tpu"
    return _strategy(name, tpu_name, tpu_zone, gcp_project)


_strategy = functools.cache(create_strategy)


def execution_arguments(mixed_precision, depth_loop, rematerialize):
    """The constructor arguments of a model from `ExecutionFlags`, the arguments.

    Its weights are float32 in any case.
    """
    mixed = mixed_precision != "float32"
    return {
        "dtype": f"mixed_{mixed_precision}" if mixed else mixed_precision,
        "depth_loop": depth_loop,
        "rematerialize": rematerialize,
    }
