"""Whether XLA compiles the training step if no flag says so, and bfloat16 on CPUs."""

import functools

from absl import logging

from albert_tf.engine.strategies import is_cpu

_CPU_INFO = "/proc/cpuinfo"
# Instructions that multiply bfloat16, as Linux names them.
_BFLOAT16_UNITS = ("avx512_bf16", "amx_bf16")


@functools.cache
def bfloat16_units():
    """Names of this processor's instructions for bfloat16 products; often none."""
    try:
        with open(_CPU_INFO, encoding="utf-8") as file:
            words = set(file.read().split())
    except OSError:  # not Linux
        return ()
    return tuple(name for name in _BFLOAT16_UNITS if name in words)


def pretraining_uses_xla(strategy, model):
    """Whether XLA makes the steps of `--use_xla`'s default faster.

    It does, except for bfloat16 on CPUs with units for it: TensorFlow's own kernels
    use them, those of XLA do not. There a step of ALBERT-base takes two thirds of the
    time without XLA (`python -m benchmarks.train_step --mixed_precision=bfloat16`).
    `rematerialize` keeps XLA, whose memory it was measured with.

    Args:
        strategy: a `tf.distribute.Strategy`.
        model: the model to train.
    """
    takes_units = model.compute_dtype == "bfloat16" and bfloat16_units()
    if model.execution["rematerialize"]:
        return True
    return not (is_cpu(strategy) and takes_units)


def warn_of_slow_bfloat16(strategy, compute_dtype):
    """Logs a warning if bfloat16 is slower than float32 on the devices.

    Args:
        strategy: a `tf.distribute.Strategy`.
        compute_dtype: "float32", "bfloat16" or "float16".
    """
    if compute_dtype == "bfloat16" and is_cpu(strategy) and not bfloat16_units():
        logging.warning(
            "This processor cannot multiply in bfloat16 (it has none of %s), so that "
            "--mixed_precision=bfloat16 is slower than float32.",
            ", ".join(_BFLOAT16_UNITS),
        )
