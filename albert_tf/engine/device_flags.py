"""Which devices train, from flags that pretraining and fine-tuning share."""

import dataclasses
import functools

from albert_tf.command_line import option
from albert_tf.engine.strategies import STRATEGIES
from albert_tf.engine.strategies import create_strategy
from albert_tf.errors import UserError


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceFlags:
    """Flags of every command that trains."""

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


def strategy_from(options):
    """The strategy that `DeviceFlags` ask for; see `create_strategy`.

    One for all runs of a process: workers and TPUs can be connected only once, and the
    collective operations of a second MirroredStrategy would mix with the first's.

    Raises:
        UserError: as `create_strategy`, or flags that contradict each other.
    """
    name, tpu_name = options.distribution_strategy, options.tpu_name
    if options.use_tpu or (tpu_name and options.use_tpu is None):
        if name not in ("auto", "tpu"):
            flag = f"--tpu_name={tpu_name}" if tpu_name else "--use_tpu"
            raise UserError(f"{flag} contradicts --distribution_strategy={name}.")
        name = "tpu"
    return _strategy(name, options.tpu_name, options.tpu_zone, options.gcp_project)


_strategy = functools.cache(create_strategy)
