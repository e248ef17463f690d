"""The peaks of well-known devices."""

import pytest
import tensorflow as tf

from albert_tf.costs.device_peaks import devices_named
from albert_tf.costs.device_peaks import gpu_peak
from albert_tf.costs.device_peaks import strategy_peak
from albert_tf.costs.device_peaks import tpu_peak


@pytest.mark.parametrize(
    ("name", "half", "single"),
    [
        ("NVIDIA H100 80GB HBM3", 989.4, 494.7),
        ("NVIDIA H100 PCIe", 756.0, 378.0),
        ("NVIDIA L4", 121.0, 60.0),
        ("NVIDIA L40S", 362.0, 183.0),
        ("Tesla T4", 65.0, 8.1),
    ],
)
def test_a_gpu_is_known_by_its_name(name, half, single):
    found = [gpu_peak(name, dtype) for dtype in ("bfloat16", "float16", "float32")]
    assert found == pytest.approx([half * 1e12, half * 1e12, single * 1e12])


def test_a_tpu_slice_is_known_by_its_type():
    peaks = {"v2": 22.5, "v3": 61.5, "v4": 137.5, "v5p": 229.5, "v6e": 918}
    for kind, teraflops in {**peaks, "v5litepod": 197}.items():
        assert tpu_peak(f"{kind}-8") == pytest.approx(8 * teraflops * 1e12)


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
