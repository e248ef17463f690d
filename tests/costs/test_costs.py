"""Costs: published parameter counts, the models' own, and the peaks of devices."""

import functools
import types

import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import backward_flops
from albert_tf.costs.albert import block_values
from albert_tf.costs.albert import encoder_parameters
from albert_tf.costs.albert import forward_flops
from albert_tf.costs.albert import pretraining_parameters
from albert_tf.costs.albert import training_flops
from albert_tf.costs.albert import training_memory
from albert_tf.costs.device_peaks import Devices
from albert_tf.costs.device_peaks import devices_named
from albert_tf.costs.device_peaks import gpu_peak
from albert_tf.costs.device_peaks import strategy_peak
from albert_tf.costs.device_peaks import tpu_peak
from albert_tf.costs.runs import fitting_parts
from albert_tf.costs.runs import tokens_per_second
from albert_tf.models.pretraining import AlbertForPreTraining


def test_released_sizes():
    for name, encoder, pretraining in (
        ("base_v2", 11_683_584, 11_813_810),
        ("xxlarge_v2", 222_595_584, 223_158_450),
    ):
        config = AlbertConfig.released(name)
        assert sum(encoder_parameters(config).values()) == encoder
        assert sum(pretraining_parameters(config).values()) == pretraining
    bert = {"vocab_size": 30522, "embedding_size": 768, "num_hidden_groups": 12}
    config = AlbertConfig.released("base_v2", **bert)
    assert sum(encoder_parameters(config).values()) == 109_482_240  # BERT-base


# Table 4 of the paper, whose numbers, in millions, are now with, now without the pooler
# (0.59); the second ones are for embeddings as wide as the layers.
_PAPER = {"all": (12, 31), "attention": (64, 83), "ffn": (38, 57), "none": (89, 108)}


def test_sharing_as_in_the_paper():
    for sharing, of_widths in _PAPER.items():
        for width, millions in zip((128, 768), of_widths, strict=True):
            changes = {"embedding_size": width, "parameter_sharing": sharing}
            config = AlbertConfig.released("base_v2", **changes)
            assert abs(sum(encoder_parameters(config).values()) / 1e6 - millions) < 1.1


@pytest.mark.parametrize(
    "changes",
    [
        {"embedding_size": 12},
        {"embedding_size": 12, "always_map_embeddings": True},
        {"parameter_sharing": "attention", "inner_group_num": 2},
        {"parameter_sharing": "ffn", "num_hidden_groups": 3, "inner_group_num": 2},
        {"position_embedding_type": "rotary", "hidden_act": "swiglu"},
        {"norm": "pre", "use_bias": False, "hidden_act": "geglu"},
        {"depth_adapter_rank": 2, "inner_group_num": 2},
        {"position_embedding_type": "disentangled", "position_buckets": 4},
        {"padding_idx": 1},
        {"type_vocab_size": 0, "unbiased": ("attention", "norm", "decoder")},
        {
            "norm": "pre",
            "norms_first_input": False,
            "pooler_norm": True,
            "parameter_sharing": "none",
            "unbiased": ("feed_forward", "head"),
        },
    ],
)
def test_counts_equal_the_model(changes, tiny_config):
    config = tiny_config(**changes)
    model = AlbertForPreTraining(config)
    for counts, counted in (
        (encoder_parameters, model.albert),
        (pretraining_parameters, model),
    ):
        assert sum(counts(config).values()) == counted.count_params()


_DISTANCES = {"position_embedding_type": "disentangled", "position_buckets": 4}
_NEAR = {
    "position_embedding_type": "rotary",
    "local_attention_window": 4,
    "global_attention_every": 3,
}


def test_operations_counted_by_hand(tiny_config):
    """Of two blocks, E = 6, H = 12, I = 20, 10 tokens, of which 2 are masked."""
    forward = forward_flops(tiny_config(num_hidden_layers=2), 10, 2)
    blocks = {
        "attention projections": 4 * 2 * 12 * 12,
        "attention scores": 2 * 2 * 10 * 12,  # and the context
        "feed-forward": 2 * 2 * 12 * 20,
    }
    # The last block computes queries and all that follows for 3 tokens of 10.
    last = 2 * 2 * 12 * 12 + 0.3 * (2 * 2 * 12 * 12 + 2 * 2 * 10 * 12 + 2 * 2 * 12 * 20)
    assert forward == pytest.approx(
        {
            **blocks,
            "embedding mapping": 2 * 6 * 12,
            "last block": last,
            "masked LM head": 0.2 * (2 * 12 * 6 + 2 * 6 * 37),
            "pooler": 2 * 12 * 12 / 10,
        }
    )
    # No more than all tokens are needed, though the first and all masked ones are.
    every = forward_flops(tiny_config(num_hidden_layers=1), 10, 10)
    whole = 4 * 2 * 12 * 12 + 2 * 2 * 10 * 12 + 2 * 2 * 12 * 20
    assert every["last block"] == whole


def test_operations_of_other_blocks_counted_by_hand(tiny_config):
    def found(part, length=10, **changes):
        return forward_flops(tiny_config(**changes), length, 2)[part]

    assert found("feed-forward", hidden_act="geglu") == 3 * 3 * 2 * 12 * 20
    scores = functools.partial(found, "attention scores")
    assert scores(**_DISTANCES) == 3 * 4 * (10 + 8) * 12
    # The first three of four blocks, of which two attend to six tokens of ten.
    assert scores(**_NEAR) == 4 * (10 + 6 + 6) * 12
    assert scores(**_NEAR, length=8) == 4 * 3 * 8 * 12  # too few for blocks
    assert scores(**_NEAR | _DISTANCES) == scores(**_DISTANCES)


@pytest.mark.parametrize("changes", [{}, _NEAR, {"depth_adapter_rank": 2}])
def test_layers_of_two_blocks_cost_as_twice_as_many_of_one(changes, tiny_config):
    two = tiny_config(num_hidden_layers=2, inner_group_num=2, **changes)
    one = tiny_config(num_hidden_layers=4, **changes)
    assert forward_flops(two, 10, 2) == forward_flops(one, 10, 2)
    assert block_values(two, 10) == block_values(one, 10)
    for again in (False, True):
        costs = [training_memory(c, 3, 10, 2, again) for c in (two, one)]
        for name in ("activations", "gradients of each block"):
            assert costs[0][name] == costs[1][name]


def test_operations_of_training():
    """Rematerialised are the blocks, and half of attention's own a third time."""
    forward = {
        "attention projections": 1,
        "feed-forward": 10,
        "depth adapters": 100,
        "last block": 1000,
        "pooler": 10_000,
        "attention scores": 100_000,
    }
    assert backward_flops(forward) == 2 * 111_111
    assert training_flops(forward) == 3 * 111_111
    assert training_flops(forward, True) == 3 * 111_111 + 1111 + 150_000
    costs = types.SimpleNamespace(forward_flops=lambda *_: forward)
    config, devices = types.SimpleNamespace(costs=costs), Devices("", 3, 1e9, 1)
    for again in (False, True):
        rate = tokens_per_second(config, devices, (10, 2), 0.4, again)
        assert rate == pytest.approx(3 * 0.4e9 / training_flops(forward, again))


def test_memory_counted_by_hand(tiny_config):
    config = tiny_config(num_hidden_layers=2)
    sizes = {"batch_size": 3, "length": 10, "predictions": 2}
    block = 8 * 12 + 20 + 3 * 10
    assert block_values(config, 10) == block
    whole, again = (
        training_memory(config, **sizes, rematerialize=again, activation_bytes=2)
        for again in (False, True)
    )
    weights = 4 * sum(pretraining_parameters(config).values())
    of_block = 4 * 13 * 12 + 2 * 12 + 13 * 20 + 21 * 12 + 2 * 12
    assert whole == {
        "weights": weights,
        "gradients": weights,
        "gradients of each block": 4 * 2 * of_block,
        "optimizer (up to two moments)": 2 * weights,
        "activations": 2 * 30 * (2 * block + 3 * 6),
        "masked LM logits": 4 * 2 * 3 * 2 * 37,
    }
    less = {"activations": 2 * 30 * (2 * 12 + block + 3 * 6)}
    assert again == {**whole, **less, "gradients of each block": 4 * of_block}
    full = training_memory(config, **sizes)
    assert full == {**whole, "activations": 2 * whole["activations"]}
    # Two blocks of four keep, for each of three heads, six keys of ten.
    for changes, more in (
        (_NEAR, -3 * (10 - 6) / 2),
        (_DISTANCES, 3 * 2 * 8),
        ({"hidden_act": "geglu"}, 20),
        ({"depth_adapter_rank": 2}, 6 * 2),
    ):
        assert block_values(tiny_config(**changes), 10) == block + more


@pytest.mark.parametrize(
    ("batch_size", "gigabytes", "expected"),
    [
        (16, 10, (1, 9)),
        (16, 9.9, (2, 6)),
        (12, 7.7, (2, 5)),
        (12, 4.5, (3, 4)),
        (12, 4.4, (6, 3)),
        (12, 3.3, (None, 3)),
    ],
)
def test_parts_of_a_batch_that_fit(batch_size, gigabytes, expected):
    """A GB for each row, one for gradients and, of several parts, for their sums."""

    def memory(config, rows, tokens, predictions, *_):
        return {"activations": rows * 1e9, "gradients": 1e9}

    costs = types.SimpleNamespace(training_memory=memory)
    config = types.SimpleNamespace(costs=costs)
    devices = types.SimpleNamespace(count=2, gigabytes=gigabytes)
    parts, used = fitting_parts(config, devices, batch_size, (8, 2), False, 4)
    assert (parts, used / 1e9) == expected


_GPUS = {  # with the TFLOP/s of half and of single precision, and gigabytes
    "NVIDIA H200": (989.4, 494.7, 141),
    "NVIDIA H100 80GB HBM3": (989.4, 494.7, 80),
    "NVIDIA H100 PCIe": (756.0, 378.0, 80),
    "NVIDIA H100 NVL": (835.0, 417.0, 94),
    "NVIDIA A100-SXM4-80GB": (312.0, 156.0, 80),
    "NVIDIA A100-SXM4-40GB": (312.0, 156.0, 40),
    "NVIDIA L4": (121.0, 60.0, 24),
    "NVIDIA L40S": (362.0, 183.0, 48),
    "Tesla V100-SXM2-16GB": (125.0, 15.7, 16),
    "Tesla T4": (65.0, 8.1, 16),
}
_TPUS = {
    "v2": (22.5, 8),
    "v3": (61.5, 16),
    "v4": (137.5, 16),
    "v5e": (197.0, 16),
    "v5litepod": (197.0, 16),
    "v5p": (229.5, 47.5),
    "v6e": (918.0, 32),
}


def test_peaks_of_known_devices():
    for name, (half, single, gigabytes) in _GPUS.items():
        found = [gpu_peak(name, dtype) for dtype in ("bfloat16", "float16", "float32")]
        assert found == pytest.approx([half * 1e12, half * 1e12, single * 1e12])
        assert devices_named(name, "float32").gigabytes == gigabytes
    for kind, (teraflops, gigabytes) in _TPUS.items():
        assert tpu_peak(f"{kind}-8") == pytest.approx(8 * teraflops * 1e12)
        devices = devices_named(f"{kind.upper()}-4", "float32")
        assert (devices.count, devices.gigabytes) == (4, gigabytes)
        assert devices.peak == pytest.approx(teraflops * 1e12)
    assert gpu_peak("Some Card", "float32") is None
    assert tpu_peak("") is tpu_peak("v9-8") is None
    cpu = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert strategy_peak(cpu, "float32") is None


def test_peaks_of_strategies(monkeypatch):
    def peak(kind, dtype="float32"):
        device = f"/job:worker/replica:0/task:0/device:{kind}:0"
        extended = types.SimpleNamespace(worker_devices=[device])
        strategy = types.SimpleNamespace(extended=extended, num_replicas_in_sync=3)
        return strategy_peak(strategy, dtype)

    details, name = tf.config.experimental, {"device_name": "Tesla T4"}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    monkeypatch.setattr(details, "get_device_details", {"GPU": name}.get)
    assert peak("GPU") == pytest.approx(3 * 8.1e12)
    assert peak("GPU", "float16") == pytest.approx(3 * 65e12)
    name.clear()
    assert peak("GPU") is None
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v3-8")
    assert peak("TPU") == pytest.approx(8 * 61.5e12)
    monkeypatch.delenv("TPU_ACCELERATOR_TYPE")
    assert peak("TPU") is None


def test_devices_by_name():
    for name, dtype, told, count, teraflops, gigabytes in (
        ("H100", "bfloat16", "1 × H100", 1, 989.4, 80),
        ("8xA100", "float32", "8 × A100", 8, 156, 40),
        ("4 × A100-80GB", "float16", "4 × A100-80GB", 4, 312, 80),
        ("v5e-8", "float32", "TPU v5e-8", 8, 197, 16),
    ):
        devices = devices_named(name, dtype)
        assert (devices.name, devices.count) == (told, count)
        assert devices.gigabytes == gigabytes
        assert devices.peak == pytest.approx(teraflops * 1e12)
