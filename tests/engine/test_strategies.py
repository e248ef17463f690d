"""From flags and environment to devices and their strategy, or to one sentence."""

import dataclasses
import json
import socket

import pytest
import tensorflow as tf

from albert_tf.engine.flags import DeviceFlags
from albert_tf.engine.flags import ReportFlags
from albert_tf.engine.strategies import create_strategy
from albert_tf.errors import UserError


def test_an_address_where_nothing_answers_is_one_sentence():
    """TensorFlow itself would wait without end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UserError, match=f"The TPU 'grpc://127.0.0.1:{port}' .*refused"):
        create_strategy("tpu", f"grpc://127.0.0.1:{port}")


def test_a_tpu_is_connected_initialized_and_used(monkeypatch):
    """In the order of TensorFlow's documentation, with the flags."""
    calls = []

    def record(name, result=None):
        def call(*args, **kwargs):
            calls.append((name, args, kwargs))
            return result

        return call

    resolver, one_device = object(), tf.distribute.OneDeviceStrategy("/cpu:0")
    resolvers = tf.distribute.cluster_resolver
    monkeypatch.setattr(resolvers, "TPUClusterResolver", record("resolve", resolver))
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", record("connect"))
    monkeypatch.setattr(
        tf.tpu.experimental, "initialize_tpu_system", record("initialize")
    )
    monkeypatch.setattr(tf.distribute, "TPUStrategy", record("create", one_device))
    assert create_strategy("tpu", "pod", "zone", "project") is one_device
    flags = {"tpu": "pod", "zone": "zone", "project": "project"}
    assert calls == [
        ("resolve", (), flags),
        *((name, (resolver,), {}) for name in ("connect", "initialize", "create")),
    ]


@pytest.mark.parametrize(
    "cluster",
    [{"worker": ["a:1", "b:1"]}, {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}],
)
def test_auto_leaves_no_worker_to_train_alone(monkeypatch, cluster):
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with pytest.raises(UserError, match="names 2 workers.*=multi_worker.* unset TF_"):
        create_strategy("auto")
    assert create_strategy("cpu").num_replicas_in_sync == 1


@pytest.mark.parametrize("text", [None, "{", "[]", '{"cluster": {"ps": ["a:1"]}}'])
def test_auto_trains_where_no_worker_is_named(monkeypatch, text):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    assert create_strategy("auto").num_replicas_in_sync == 1
    with pytest.raises(UserError, match="needs the environment variable TF_CONFIG"):
        create_strategy("multi_worker")


def test_mirrored_takes_the_devices_of_this_process(monkeypatch, two_replicas):
    cluster = {"worker": ["a:1", "b:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster}))
    created = []
    monkeypatch.setattr(
        tf.distribute,
        "MirroredStrategy",
        lambda devices: created.append(devices) or two_replicas,
    )
    assert create_strategy("mirrored") is two_replicas
    assert len(created[0]) == 2


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
