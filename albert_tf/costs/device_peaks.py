"""Peak FLOPs per second and memory of well-known devices.

The numbers are from the vendors' data sheets, for dense matrix products (no sparsity)
accumulated in float32, in units of 1e12 per second, and in gigabytes.
"""

import dataclasses
import os
import re
import time

from albert_tf.errors import UserError

_TERA, _GIGA = 1e12, 1e9

# (pattern of TensorFlow's device name, bfloat16 or float16, float32, GB). TensorFlow
# computes float32 products as TensorFloat-32 if the GPU supports it.
_GPUS = (
    (r"\bH200\b", 989.4, 494.7, 141),
    (r"\bH100 PCIe\b", 756.0, 378.0, 80),
    (r"\bH100 NVL\b", 835.0, 417.0, 94),
    (r"\bH100\b", 989.4, 494.7, 80),
    (r"\bA100\b.*\b80GB\b", 312.0, 156.0, 80),
    (r"\bA100\b", 312.0, 156.0, 40),
    (r"\bL40S\b", 362.0, 183.0, 48),
    (r"\bL4\b", 121.0, 60.0, 24),
    (r"\bV100-SXM", 125.0, 15.7, 16),
    (r"\bT4\b", 65.0, 8.1, 16),
)

# Per unit that an accelerator type such as "v4-8" or "v6e-8" counts: cores up to v5p,
# chips from v5e on. XLA's default precision multiplies float32 as bfloat16.
_TPUS = {
    "v2": (22.5, 8),
    "v3": (61.5, 16),
    "v4": (137.5, 16),
    "v5e": (197.0, 16),
    "v5litepod": (197.0, 16),
    "v5p": (229.5, 47.5),
    "v6e": (918.0, 32),
}
_SEVERAL = re.compile(r"(?:(\d+)\s*[x×])?\s*(.+)", re.DOTALL)
# A product that a CPU computes in some hundredths of a second.
_SIDE, _PRODUCTS = 2048, 4


@dataclasses.dataclass(frozen=True)
class Devices:
    """Devices that train together."""

    name: str
    count: int
    peak: float
    """FLOPs per second of one device."""
    gigabytes: float
    """Memory of one device."""


def devices_named(name, compute_dtype):
    """Returns the `Devices` of a name: "8xH100", "v5e-8", or "cpu" for this machine.

    The peak of a CPU is measured, which takes a second; the others are in tables.

    Args:
        name: as above; the name of a GPU may be part of TensorFlow's.
        compute_dtype: "float32", "bfloat16" or "float16".

    Raises:
        UserError: no table has the device.
    """
    if name.lower() == "cpu":
        pages, size = map(os.sysconf, ("SC_PHYS_PAGES", "SC_PAGE_SIZE"))
        return Devices(
            "this CPU, measured", 1, _cpu_peak(compute_dtype), pages * size / _GIGA
        )
    kind, _, size = name.lower().partition("-")
    if tpu_peak(name.lower()):
        count, (peak, gigabytes) = int(size), _TPUS[kind]
        return Devices(f"TPU {name.lower()}", count, peak * _TERA, gigabytes)
    count, gpu = _SEVERAL.fullmatch(name).groups() if name else (None, name)
    found = _gpu(gpu)
    if found is None or count == "0":
        raise UserError(
            f"--device={name} is unknown; write a GPU (A100, A100-80GB, H100, H200, "
            "L4, L40S, T4, V100-SXM2), several as 8xH100, a TPU slice "
            f"({', '.join(sorted(_TPUS))}) with its size as v5e-8, or cpu for this "
            "machine."
        )
    count = int(count or 1)
    peak = gpu_peak(gpu, compute_dtype)
    return Devices(f"{count} × {gpu}", count, peak, found[-1])


def _cpu_peak(compute_dtype):
    """Measures the FLOPs per second of a matrix product on this machine's CPU."""
    import tensorflow as tf

    with tf.device("/cpu:0"):
        matrix = tf.ones((_SIDE, _SIDE), compute_dtype)
        times = []
        for _ in range(_PRODUCTS):
            started = time.perf_counter()
            tf.linalg.matmul(matrix, matrix).numpy()
            times.append(time.perf_counter() - started)
    return 2 * _SIDE**3 / min(times)


def _gpu(name):
    """Finds a GPU's row without its pattern: (half, single, GB); None without one."""
    return next((row for pattern, *row in _GPUS if re.search(pattern, name)), None)


def gpu_peak(device_name, compute_dtype):
    """Returns the peak FLOPs per second of a GPU, or None if it is not in the table.

    Args:
        device_name: TensorFlow's name, such as "NVIDIA A100-SXM4-40GB".
        compute_dtype: "float32", "bfloat16" or "float16".
    """
    found = _gpu(device_name)
    return found and _TERA * found[1 if compute_dtype == "float32" else 0]


def tpu_peak(accelerator_type):
    """Returns the peak FLOPs per second of a slice such as "v5litepod-8", or None."""
    kind, _, size = accelerator_type.partition("-")
    if kind not in _TPUS or not size.isdigit():
        return None
    return _TERA * _TPUS[kind][0] * int(size)


def strategy_peak(strategy, compute_dtype):
    """Returns the peak FLOPs per second of a strategy's devices; None if unknown.

    The name identifies a GPU; the environment variable `TPU_ACCELERATOR_TYPE`, which
    Google Kubernetes Engine sets, identifies a TPU slice.
    """
    # Imported here: `gpu_peak` also runs on machines without TensorFlow.
    import tensorflow as tf

    device = tf.DeviceSpec.from_string(strategy.extended.worker_devices[0])
    if device.device_type == "TPU":
        return tpu_peak(os.environ.get("TPU_ACCELERATOR_TYPE", ""))
    if device.device_type != "GPU":
        return None
    gpu = tf.config.list_physical_devices("GPU")[0]
    name = tf.config.experimental.get_device_details(gpu).get("device_name", "")
    one = gpu_peak(name, compute_dtype)
    return one and one * strategy.num_replicas_in_sync
