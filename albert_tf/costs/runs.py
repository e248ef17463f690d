"""Costs of a pretraining run on devices, estimated: memory, accumulation and time."""

from albert_tf.costs.albert import training_flops

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of a value between layers, by the type in which they compute."""

_GIGA = 1e9
_FIT = 0.9  # of a device's memory; the rest is fragments and the runtime's own


def step_memory(config, rows, sizes, rematerialize, activation_bytes, accumulates):
    """Estimates the bytes of a training step on one device, by part.

    Args:
        config: a configuration with `costs`.
        rows: sequences that the device computes at once.
        sizes: tokens and predictions in a sequence.
        rematerialize, activation_bytes: see `costs.albert.training_memory`.
        accumulates: whether a step adds up the gradients of several such parts.
    """
    parts = config.costs.training_memory(
        config, rows, *sizes, rematerialize, activation_bytes
    )
    if accumulates:
        parts["sums of gradients"] = parts["gradients"]
    return parts


def fitting_parts(config, devices, batch_size, sizes, rematerialize, activation_bytes):
    """Finds the fewest parts of a batch, each of which fits a device.

    Args:
        config, sizes, rematerialize, activation_bytes: see `step_memory`.
        devices: the `Devices`, whose number divides `batch_size`.
        batch_size: sequences in a step, over all devices.

    Returns:
        The number of parts and the estimated bytes of a step; (None, bytes of a single
        row) if not even that fits.
    """
    rows, used = batch_size // devices.count, None
    for parts in range(1, rows + 1):
        if rows % parts:
            continue
        memory = step_memory(
            config, rows // parts, sizes, rematerialize, activation_bytes, parts > 1
        )
        used = sum(memory.values())
        if used <= _FIT * devices.gigabytes * _GIGA:
            return parts, used
    return None, used


def tokens_per_second(config, devices, sizes, utilization, rematerialize):
    """Estimates the speed of training at a share `utilization` of the peak."""
    forward = config.costs.forward_flops(config, *sizes)
    flops = training_flops(forward, rematerialize)
    return devices.count * devices.peak * utilization / flops
