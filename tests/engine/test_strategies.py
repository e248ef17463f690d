"""From flags and environment to devices, their strategy, numbers and compilation."""

import dataclasses
import functools
import json
import socket
import types
from unittest import mock

import pytest
import tensorflow as tf

from albert_tf.engine import compilation
from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ExecutionFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.processes import Workers
from albert_tf.engine.strategies import create_strategy
from albert_tf.engine.strategies import strategy_from
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
        (WITHOUT_UNITS, [(7, 0), (8, 6)], MIRRORED, "float16", "7.0"),
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


def test_an_address_where_nothing_answers_is_one_sentence(monkeypatch):
    """TensorFlow itself would wait without end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UserError, match=f"The TPU 'grpc://127.0.0.1:{port}' .*refused"):
        strategy_from(DeviceFlags(tpu_name=f"grpc://127.0.0.1:{port}"))
    connect = mock.Mock(side_effect=OSError("nothing answers"))
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(UserError, match="cannot be used .nothing answers.; pass"):
        strategy_from(DeviceFlags(tpu_name="grpc://host,grpc://other:1"))
    assert connect.call_args.args == (("host", 8470), 10)


def test_a_tpu_is_connected_initialized_and_used(monkeypatch):
    """In the order of TensorFlow's documentation, with the flags."""
    calls = []

    def record(name, result, *args, **kwargs):
        calls.append((name, args, kwargs))
        return result

    steps = {
        "TPUClusterResolver": (tf.distribute.cluster_resolver, "resolver"),
        "experimental_connect_to_cluster": (tf.config, None),
        "initialize_tpu_system": (tf.tpu.experimental, None),
        "TPUStrategy": (tf.distribute, CPU),
    }
    for name, (module, result) in steps.items():
        monkeypatch.setattr(module, name, functools.partial(record, name, result))
    place = {"tpu_zone": "zone", "gcp_project": "project"}
    assert strategy_from(DeviceFlags(tpu_name="pod", **place)) is CPU
    first, *others = steps
    flags = {"tpu": "pod", "zone": "zone", "project": "project"}
    expected = [(first, (), flags), *((name, ("resolver",), {}) for name in others)]
    assert calls == expected


@pytest.mark.parametrize(
    "cluster",
    [{"worker": ["a:1", "b:1"]}, {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}],
)
def test_auto_leaves_no_worker_to_train_alone(monkeypatch, cluster):
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with pytest.raises(UserError, match="names 2 workers.*=multi_worker.* unset TF_"):
        create_strategy("auto")
    cpu, created = create_strategy("cpu"), []
    assert cpu.num_replicas_in_sync == 1
    monkeypatch.setattr(
        tf.distribute,
        "MirroredStrategy",
        lambda devices: created.append(devices) or cpu,
    )
    assert create_strategy("mirrored") is cpu
    assert len(created[0]) == 2  # the devices of this process
    alone = {"cluster": {"worker": ["a:1"]}, "task": task}
    monkeypatch.setenv("TF_CONFIG", json.dumps(alone))
    gpus = [types.SimpleNamespace(name=f"GPU:{number}") for number in range(2)]
    for found in (gpus[:1], gpus):
        monkeypatch.setattr(
            tf.config, "list_logical_devices", lambda kind, found=found: found
        )
        strategy = create_strategy("auto")
    assert strategy is cpu
    assert created[1:] == [["GPU:0", "GPU:1"]]


def test_every_worker_gets_the_number_of_each(two_replicas, monkeypatch):
    monkeypatch.setattr(
        tf.distribute, "MultiWorkerMirroredStrategy", type(two_replicas)
    )
    assert Workers(two_replicas).all_values(3) == [3, 3]
    assert Workers(CPU).all_values(3) == [3]


@pytest.mark.parametrize("text", [None, "{", "[]", '{"cluster": {"ps": ["a:1"]}}'])
def test_auto_trains_where_no_worker_is_named(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert create_strategy("auto").num_replicas_in_sync == 1
    with pytest.raises(UserError, match="needs the environment variable TF_CONFIG"):
        create_strategy("multi_worker")


@pytest.mark.parametrize(
    ("devices", "asks"),
    [
        ({}, False),
        ({"use_tpu": True}, True),
        ({"distribution_strategy": "tpu"}, True),
        ({"tpu_name": "mine"}, True),
        ({"use_tpu": False, "tpu_name": "mine"}, False),
    ],
)
def test_which_flags_ask_for_a_tpu(devices, asks):
    assert dataclasses.replace(DeviceFlags(), **devices).asks_tpu is asks


def test_a_range_of_steps():
    assert ReportFlags().profile_range() is None
    assert ReportFlags(profile_steps="6:17").profile_range() == (6, 17)
    for value in ("5", "5:5", "a:b", "-1:5"):
        with pytest.raises(UserError, match=f"--profile_steps={value} is not a range"):
            ReportFlags(profile_steps=value).profile_range()
