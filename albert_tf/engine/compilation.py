"""Choice of XLA and the compute dtype, by what is fast on the devices."""

import dataclasses
import functools

import tensorflow as tf
from absl import logging

from albert_tf.engine.strategies import is_cpu
from albert_tf.errors import UserError

_CPU_INFO = "/proc/cpuinfo"
# Linux's names of the CPU features that multiply bfloat16.
_BFLOAT16_UNITS = ("avx512_bf16", "amx_bf16")
_UNITS = ", ".join(_BFLOAT16_UNITS)
# The least compute capability of GPUs with fast products of a dtype.
_GPU_TYPES = {"bfloat16": (8, 0), "float16": (7, 0)}


@functools.cache
def bfloat16_units():
    """Lists this processor's instruction sets for bfloat16 products; often none."""
    try:
        with open(_CPU_INFO, encoding="utf-8") as file:
            words = set(file.read().split())
    except OSError:  # not Linux
        return ()
    return tuple(name for name in _BFLOAT16_UNITS if name in words)


def with_precision(options):
    """Replaces "auto" in `DeviceFlags` and `ExecutionFlags` by a dtype.

    The kind of device decides, not a timing: the same command on the same machine must
    compute the same numbers. NVIDIA GPUs multiply bfloat16 from compute capability 8.0
    on, and float16 from 7.0 on. A run stores the dtype: on other devices it continues
    with the same one, or refuses to.

    Raises:
        UserError: "auto" for several workers, whose devices may differ.
    """
    if options.mixed_precision != "auto":
        return options
    found, reason = _fastest_precision(options)
    logging.info("--mixed_precision=auto takes %s: %s.", found, reason)
    return dataclasses.replace(options, mixed_precision=found)


def _fastest_precision(devices):
    """Returns the fastest dtype on the devices of `DeviceFlags`, and a reason."""
    if devices.distribution_strategy == "multi_worker":
        raise UserError(
            "--mixed_precision=auto looks at the devices of one machine, and several "
            "workers must compute alike; name the type, such as "
            "--mixed_precision=bfloat16."
        )
    if devices.asks_tpu:
        return "bfloat16", "the type of TPUs"
    if devices.distribution_strategy != "cpu" and (
        gpus := tf.config.list_physical_devices("GPU")
    ):
        details = map(tf.config.experimental.get_device_details, gpus)
        # The oldest one decides.
        least = min(one.get("compute_capability", (0, 0)) for one in details)
        fast = [name for name, first in _GPU_TYPES.items() if least >= first]
        reason = f"the GPU has compute capability {least[0]}.{least[1]}"
        return (*fast, "float32")[0], reason
    if units := bfloat16_units():
        return "bfloat16", f"this processor has {', '.join(units)}"
    return "float32", f"this processor has none of {_UNITS}"


def pretraining_xla(strategy, model):
    """Chooses the parts of a step that XLA compiles if `--use_xla` is not given.

    XLA compiles everything, except for bfloat16 on CPUs with bfloat16 units, which
    TensorFlow's own products use and XLA's do not. There a step of ALBERT-base takes
    0.6 of the time if XLA compiles only activations and the update (`python -m
    benchmarks.train_step --mixed_precision=bfloat16`). `rematerialize` keeps XLA,
    because its memory was measured with XLA.

    Returns:
        The fields `use_xla` and `xla_beside_products` of `TrainerOptions`, a dict.
    """
    takes_units = model.compute_dtype == "bfloat16" and bool(bfloat16_units())
    alone = is_cpu(strategy) and takes_units and not model.execution["rematerialize"]
    return {"use_xla": not alone, "xla_beside_products": alone}


def warn_of_slow_bfloat16(strategy, compute_dtype):
    """Logs a warning if the dtype is bfloat16 and the devices are slow at it."""
    if compute_dtype == "bfloat16" and is_cpu(strategy) and not bfloat16_units():
        logging.warning(
            "This processor cannot multiply in bfloat16 (it has none of %s), so that "
            "--mixed_precision=bfloat16 is slower than float32.",
            _UNITS,
        )


def compiled(function, use_xla):
    """Makes a graph function, which XLA compiles if `use_xla`."""
    return tf.function(
        function,
        jit_compile=use_xla or None,
        autograph=False,
        # Inlined into an observed step and into a loop of plain ones, TensorFlow would
        # optimize it in two ways, which differ in the last bits.
        experimental_attributes={"_noinline": True},
    )
