"""The peaks of well-known devices."""

import pytest
import tensorflow as tf

from albert_tf.costs.device_peaks import devices_named
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


@pytest.mark.parametrize(
    "name,dtype,count,teraflops,gigabytes",
    [
        ("H100", "bfloat16", 1, 989.4, 80),
        ("8xA100", "float32", 8, 156, 40),
        ("4 × A100-80GB", "float16", 4, 312, 80),
        ("v5e-8", "float32", 8, 197, 16),
        ("v5litepod-4", "bfloat16", 4, 197, 16),
        ("v3-8", "bfloat16", 8, 61.5, 16),
    ],
)
def test_devices_by_name(name, dtype, count, teraflops, gigabytes):
    devices = devices_named(name, dtype)
    assert (devices.count, devices.gigabytes) == (count, gigabytes)
    assert devices.peak == pytest.approx(teraflops * 1e12)


def test_other_devices_are_not_known():
    assert gpu_peak("Some Card", "float32") is None
    assert tpu_peak("") is None
    assert tpu_peak("v9-8") is None
    cpu = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert strategy_peak(cpu, "float32") is None
