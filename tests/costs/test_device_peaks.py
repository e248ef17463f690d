"""The peaks of well-known devices."""

import pytest
import tensorflow as tf

from albert_tf.costs.device_peaks import gpu_peak
from albert_tf.costs.device_peaks import strategy_peak
from albert_tf.costs.device_peaks import tpu_peak


@pytest.mark.parametrize(
    "name,dtype,teraflops",
    [
        ("NVIDIA H100 80GB HBM3", "bfloat16", 989.4),
        ("NVIDIA H100 PCIe", "bfloat16", 756.0),
        ("NVIDIA A100-SXM4-40GB", "float32", 156.0),
        ("NVIDIA L4", "float16", 121.0),
        ("NVIDIA L40S", "float16", 362.0),
        ("Tesla V100-SXM2-16GB", "float16", 125.0),
        ("Tesla T4", "float32", 8.1),
    ],
)
def test_a_gpu_is_known_by_its_name(name, dtype, teraflops):
    assert gpu_peak(name, dtype) == pytest.approx(teraflops * 1e12)


@pytest.mark.parametrize(
    "accelerator_type,chips,teraflops",
    [("v3-8", 4, 123), ("v4-16", 8, 275), ("v5litepod-4", 4, 197), ("v6e-8", 8, 918)],
)
def test_a_tpu_slice_is_known_by_its_type(accelerator_type, chips, teraflops):
    assert tpu_peak(accelerator_type) == pytest.approx(chips * teraflops * 1e12)


def test_other_devices_are_not_known():
    assert gpu_peak("Some Card", "float32") is None
    assert tpu_peak("") is None
    assert tpu_peak("v9-8") is None
    cpu = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert strategy_peak(cpu, "float32") is None
