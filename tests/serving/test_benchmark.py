"""The benchmark of serving runs on a small model and prints every figure."""

import json
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
    monkeypatch.setattr(benchmark, "_SINGLE", (6, 12))
    monkeypatch.setattr(benchmark, "available_cores", lambda: 1)
    monkeypatch.setattr(turns, "Player", PlayerHere)
    benchmark.benchmark(options)
    printed = capsys.readouterr().out
    for side in ("default", "latency", "bfloat16", "onnx int8", "products alone"):
        assert f"| {side} | " in printed


def test_the_figures_of_each_side(tmp_path):
    """Ratios are to the fastest peer, shares to the products of the same shapes."""
    path = tmp_path / "figures.json"
    options = benchmark.Options(data_file="", rounds=2, figures_file=str(path))
    requests = {
        "batches": {"title": "sentences/s", "texts": ["a"] * 8, "batch_size": 4},
        "single": {"title": "one, ms", "texts": ["a"], "batch_size": 1},
    }
    seconds = {
        "default": [[1.0], [3.0]],
        "products alone": [[1.0], [1.0]],
        "peer, torch": [[9.0], [9.0]],
        "peer, openvino": [[4.0], [4.0]],
    }
    alone = {side: [[0.1, 0.2, 0.3]] * 2 for side in seconds}
    details = {side: {"batches": side, "single": "one"} for side in seconds}
    measured = {1: ({"batches": seconds, "single": alone}, details)}
    benchmark._write_figures(options, requests, measured)
    figures = json.loads(path.read_text())
    assert figures["columns"] == ["", "sentences/s, 1 core", "one, ms, 1 core"]
    assert figures["conditions"][0] == "default, 1 core: batches: default; single: one"
    rows = {name: cells for name, *cells in figures["rows"]}
    assert rows["default"][0] == {
        "value": 4,
        "share": 0.5,
        "ratio": 2,
        "lowest": pytest.approx(4 / 3),
        "highest": 4,
    }
    assert rows["products alone"][0] == {"value": 8}
    assert rows["peer, torch"][0]["ratio"] == pytest.approx(4 / 9)
    assert rows["default"][1]["value"] == pytest.approx(200)
    assert rows["peer, openvino"][0] == {"value": 2, "share": 0.25}


def test_a_model_that_leaves_early_is_compared_with_full_depth():
    options = benchmark.Options(data_file="", model_dir="m", exit_rule="entropy")
    found = benchmark._exports(options, None)
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
        "def main():\n"
        "    print('from a library')\n"
        "    return lambda line: [name, line], json.loads(details)\n"
        "serve(main)\n"
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
