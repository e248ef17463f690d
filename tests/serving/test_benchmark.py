"""The benchmark of serving runs on a small model and prints every figure."""

import json
import sys

import pytest

from benchmarks import serving as benchmark
from benchmarks.measuring import turns
from benchmarks.measuring.turns import Fastest
from tests.players import PlayerHere


@pytest.mark.nightly
def test_prints_every_figure(material, tiny_config, tmp_path, monkeypatch, capsys):
    """Of a tiny model and a few sentences, of which one has 8 words."""
    words = ["the", "cat", "sat", "on", "a", "mat", "and", "ran"]
    lines = [" ".join(words[: 1 + place]) for place in range(8)]
    (tmp_path / "dev.tsv").write_text("\n".join(["sentence", *lines]) + "\n")
    config = tiny_config(max_position_embeddings=32, num_hidden_layers=1)
    config.to_json_file(tmp_path / "config.json")
    options = benchmark.Options(
        data_file=str(tmp_path / "dev.tsv"),
        spm_model_file=str(material / "vocab.model"),
        albert_config_file=str(tmp_path / "config.json"),
        batch_size=4,
        batches=2,
        requests=3,
        rounds=1,
    )
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
