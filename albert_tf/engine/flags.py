"""Which devices train and how they compute: flags of every command that trains."""

import dataclasses

from albert_tf.cli.command_line import option

STRATEGIES = ("auto", "cpu", "mirrored", "multi_worker", "tpu")
_PRECISIONS = ("float32", "bfloat16", "float16", "auto")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceFlags:
    """Which devices train."""

    distribution_strategy: str = option(
        "Devices to train on. auto: all GPUs, or the CPU if there are none; mirrored: "
        "all GPUs of this machine; multi_worker: the processes that TF_CONFIG lists.",
        "auto",
        STRATEGIES,
    )
    use_tpu: bool | None = option(
        "Official spelling of --distribution_strategy=tpu; if false, --tpu_name has "
        "no effect.",
        None,
    )
    tpu_name: str | None = option(
        "Name or address of the TPU to train on; local on a TPU VM.",
        None,
        may_change=True,
    )
    tpu_zone: str | None = option(
        "Zone of the TPU; by default the zone of this machine.", None, may_change=True
    )
    gcp_project: str | None = option(
        "Google Cloud project of the TPU; by default the project of this machine.",
        None,
        may_change=True,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecutionFlags:
    """How a model is computed."""

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
