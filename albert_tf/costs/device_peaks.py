"""Peak FLOPs per second of well-known devices.

The numbers are from the vendors' data sheets, for dense matrix products (no sparsity)
accumulated in float32, in units of 1e12 per second.
"""

import os
import re

_TERA = 1e12

# (pattern of TensorFlow's device name, bfloat16 or float16, float32). TensorFlow
# computes float32 products as TensorFloat-32 if the GPU supports it.
_GPUS = (
    (r"\bH200\b", 989.4, 494.7),
    (r"\bH100 PCIe\b", 756.0, 378.0),
    (r"\bH100 NVL\b", 835.0, 417.0),
    (r"\bH100\b", 989.4, 494.7),
    (r"\bA100\b", 312.0, 156.0),
    (r"\bL40S\b", 362.0, 183.0),
    (r"\bL4\b", 121.0, 60.0),
    (r"\bV100-SXM", 125.0, 15.7),
    (r"\bT4\b", 65.0, 8.1),
)

# Per unit that an accelerator type such as "v4-8" or "v6e-8" counts: cores up to v5p,
# chips from v5e on. XLA's default precision multiplies float32 as bfloat16.
_TPUS = {
    "v2": 22.5,
    "v3": 61.5,
    "v4": 137.5,
    "v5litepod": 197.0,
    "v5p": 229.5,
    "v6e": 918.0,
}


def gpu_peak(device_name, compute_dtype):
    """Returns the peak FLOPs per second of a GPU, or None if it is not in the table.

    Args:
        device_name: TensorFlow's name, such as "NVIDIA A100-SXM4-40GB".
        compute_dtype: "float32", "bfloat16" or "float16".
    """
    for pattern, half, single in _GPUS:
        if re.search(pattern, device_name):
            return _TERA * (single if compute_dtype == "float32" else half)
    return None


def tpu_peak(accelerator_type):
    """Returns the peak FLOPs per second of a slice such as "v5litepod-8", or None."""
    kind, _, size = accelerator_type.partition("-")
    if kind not in _TPUS or not size.isdigit():
        return None
    return _TERA * _TPUS[kind] * int(size)


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
