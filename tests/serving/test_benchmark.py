"""The benchmark of serving runs on a small model and prints every figure."""

import json
import os
import sys

import pytest

from benchmarks import serving as benchmark
from benchmarks.measuring import turns
from benchmarks.measuring.turns import Fastest
from tests.players import PlayerHere


@pytest.fixture
def options(material, tiny_config, tmp_path):
    """The options of a tiny model of a few sentences, of which one has 8 words."""
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "ran"]
    lines = [" ".join(words[: 1 + place]) for place in range(8)]
    (tmp_path / "dev.tsv").write_text("\n".join(["sentence", *lines]) + "\n")
    config = tiny_config(max_position_embeddings=32, num_hidden_layers=1)
    config.to_json_file(tmp_path / "config.json")
    return benchmark.Options(
        data_file=str(tmp_path / "dev.tsv"),
        spm_model_file=str(material / "vocab.model"),
        albert_config_file=str(tmp_path / "config.json"),
        batch_size=4,
        batches=2,
        requests=3,
        rounds=1,
    )


@pytest.mark.nightly
def test_prints_every_figure(options, monkeypatch, capsys):
    # Those of the types are for throughput, and for ONNX Runtime, too.
    for name in ("throughput", "onnx"):
        monkeypatch.delitem(benchmark._EXPORTS, name)
    # The export for latency has a graph for each length.
    monkeypatch.setattr(benchmark, "_MAX_SEQ_LENGTH", 32)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(turns, "Player", PlayerHere)
    benchmark.benchmark(options)
    printed = capsys.readouterr().out
    for side in ("default", "latency", "bfloat16", "onnx int8"):
        assert f"| {side} | " in printed


def test_the_figures_of_each_side(tmp_path):
    path = tmp_path / "figures.json"
    options = benchmark.Options(
        data_file="",
        spm_model_file="",
        batch_size=4,
        batches=2,
        rounds=2,
        figures_file=str(path),
    )
    throughput = {"default": [1.0, 3.0], "peer": [4.0, 4.0]}
    latency = {"default": [0.1, 0.3, 0.2, 0.2], "peer": [0.1, 0.1, 0.1, 0.3]}
    details = {
        "default": ["threads 2", "threads 1"],
        "latency": ["threads 2", "threads 2"],
        "onnx": ["threads 2", "threads 2"],
        "peer": ["int8", "bfloat16"],
    }
    benchmark._write_figures(options, throughput, latency, details)
    figures = json.loads(path.read_text())
    assert figures["conditions"][:3] == [
        "default: batches: threads 2; one sentence: threads 1",
        "latency, onnx: threads 2",
        "peer: batches: int8; one sentence: bfloat16",
    ]
    (_, rate, milliseconds), (name, *theirs) = figures["rows"]
    assert rate == {
        "value": 4,
        "ratio": 2,
        "lowest": pytest.approx(4 / 3),
        "highest": 4,
    }
    assert milliseconds["value"] == pytest.approx(200)
    assert milliseconds["lowest"] == pytest.approx(0.5)
    assert milliseconds["highest"] == pytest.approx(1)
    assert (name, theirs) == ("peer", [{"value": 2}, {"value": 100}])


def test_a_model_that_leaves_early_is_compared_with_full_depth():
    options = benchmark.Options(data_file="", model_dir="m", exit_rule="entropy")
    found = benchmark._exports(options)
    assert list(found)[:2] == ["onnx int8, full depth", "onnx int8, early"]
    assert [flags["exit_rule"] for flags in found.values()] == ["none", "entropy"] * 4
    assert {flags.get("compute_dtype") for flags in found.values()} == {
        "int8",
        "bfloat16",
        None,
    }


def test_the_fastest_setting_takes_the_turns():
    player = (
        "import json, sys\n"
        "from benchmarks.measuring.turns import serve\n"
        "name, details = sys.argv[1:]\n"
        "serve(lambda line: [name, line], json.loads(details))\n"
    )
    seconds = {"one": {"long": 3.0, "short": 1.0}, "two": {"long": 2.0, "short": 1.5}}
    commands = {
        name: [sys.executable, "-c", player, name, json.dumps(details)]
        for name, details in seconds.items()
    }
    with Fastest(commands) as side:
        assert side.details == {"long": "two", "short": "one"}
        assert side.turn("long 4") == ["two", "long 4"]
        assert side.turn("short 1") == ["one", "short 1"]
