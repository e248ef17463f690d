"""XLA compiles pretraining's steps, except where this is slower."""

import dataclasses
import types

import pytest
import tensorflow as tf

from albert_tf.engine import compilation
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.errors import UserError
from albert_tf.models.albert import AlbertModel

CPU = tf.distribute.OneDeviceStrategy("/cpu:0")
GPU = types.SimpleNamespace(
    extended=types.SimpleNamespace(worker_devices=["/device:GPU:0"])
)
WITH_UNITS = "flags : fpu avx512_bf16 avx512f amx_bf16\n"
WITHOUT_UNITS = "flags : fpu avx512_bf16x avx512f\n"
MIRRORED = {"distribution_strategy": "mirrored"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Flags(DeviceFlags, ExecutionFlags):
    """The flags of a command that trains."""

    mixed_precision: str = "auto"


def chosen(**devices):
    return compilation.with_precision(Flags(**devices)).mixed_precision


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """Makes this processor another one, by the text that describes it."""

    def make(text):
        (tmp_path / "cpuinfo").write_text(text)
        monkeypatch.setattr(compilation, "_CPU_INFO", str(tmp_path / "cpuinfo"))
        compilation.bfloat16_units.cache_clear()

    yield make
    monkeypatch.undo()
    compilation.bfloat16_units.cache_clear()


@pytest.mark.parametrize(
    ("text", "gpus", "devices", "expected", "reason"),
    [
        (WITH_UNITS, [], {}, "bfloat16", "has avx512_bf16, amx_bf16"),
        (WITHOUT_UNITS, [], {}, "float32", "has none of avx512_bf16"),
        (WITHOUT_UNITS, [], {"use_tpu": True}, "bfloat16", "TPUs"),
        (WITHOUT_UNITS, [(9, 0), (8, 0)], {}, "bfloat16", "8.0"),
        (WITHOUT_UNITS, [(7, 5), (8, 6)], MIRRORED, "float16", "7.5"),
        (WITH_UNITS, [(6, 1)], {}, "float32", "6.1"),
        (WITHOUT_UNITS, [(9, 0)], {"distribution_strategy": "cpu"}, "float32", "this"),
    ],
)
def test_the_fastest_type_of_the_devices(
    text, gpus, devices, expected, reason, processor, monkeypatch, caplog
):
    processor(text)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: gpus)
    monkeypatch.setattr(
        tf.config.experimental,
        "get_device_details",
        lambda gpu: {"compute_capability": gpu},
    )
    with caplog.at_level("INFO", "absl"):
        assert chosen(**devices) == expected
    assert f"--mixed_precision=auto takes {expected}: " in caplog.text
    assert reason in caplog.text
    with pytest.raises(UserError, match="workers must compute alike; name the type"):
        chosen(distribution_strategy="multi_worker")


@pytest.mark.parametrize(
    ("text", "strategy", "arguments", "expected"),
    [
        (WITH_UNITS, CPU, {"dtype": "mixed_bfloat16"}, False),
        (WITH_UNITS, CPU, {"dtype": "mixed_bfloat16", "rematerialize": True}, True),
        (WITH_UNITS, CPU, {}, True),
        (WITH_UNITS, GPU, {"dtype": "mixed_bfloat16"}, True),
        (WITHOUT_UNITS, CPU, {"dtype": "mixed_bfloat16"}, True),
    ],
)
def test_where_xla_is_slower(
    text, strategy, arguments, expected, processor, tiny_config
):
    processor(text)
    model = AlbertModel(tiny_config(), **arguments)
    found = compilation.pretraining_xla(strategy, model)
    assert found == {"use_xla": expected, "xla_beside_products": not expected}


def test_slow_bfloat16_alone_is_named(processor, caplog):
    processor(WITH_UNITS)
    compilation.warn_of_slow_bfloat16(CPU, "bfloat16")
    processor(WITHOUT_UNITS)
    compilation.warn_of_slow_bfloat16(GPU, "bfloat16")
    compilation.warn_of_slow_bfloat16(CPU, "float32")
    assert not caplog.text
    compilation.warn_of_slow_bfloat16(CPU, "bfloat16")
    assert "is slower than float32" in caplog.text
