"""The benchmark runs: our own side, tiny."""

import json

import pytest

from benchmarks import train_step
from benchmarks.sides import albert_tf
from tests.players import PlayerHere


@pytest.mark.nightly
def test_own_side_is_timed_on_a_batch_and_on_records(
    tiny_config, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(train_step, "Player", PlayerHere)
    # XLA compiles longer than all the rest takes; tests/engine has steps with it.
    monkeypatch.setattr(albert_tf, "pretraining_xla", lambda *_: {"use_xla": False})
    config = tmp_path / "config.json"
    sizes = {"vocab_size": 200, "max_position_embeddings": 32, "num_hidden_layers": 1}
    sizes["num_attention_heads"] = 2
    tiny_config(**sizes).to_json_file(config)
    options = train_step.Options(
        albert_config_file=str(config),
        shapes="32x4x5",
        sides="hugging_face,albert_tf_float32,albert_tf_modern",
        torch_python="false",  # A program that fails, as an import would.
        rounds=1,
        steps=1,
        mixed_precision="bfloat16",
        figures_file=str(tmp_path / "figures.json"),
    )
    found = train_step.benchmark(options)
    names = {"albert_tf", "albert_tf_float32", "albert_tf_modern", "records"}
    assert set(found["32x4x5"]) == names | {"products_alone"}
    assert all(seconds > 0 for seconds in found["32x4x5"].values())
    printed = capsys.readouterr().out
    assert "hugging_face is left out" in printed
    assert "| `records` | " in printed
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["columns"] == ["a step of", "S = 32, tokens/s"]
    names = [f"`{name}`" for name in found["32x4x5"]]
    assert [row[0] for row in figures["rows"]] == names
    own = figures["rows"][0][1]
    assert own["value"] == pytest.approx(32 * 4 / found["32x4x5"]["albert_tf"])
    assert own["ratio"] == 1
    seconds = found["32x4x5"]
    alone = seconds["products_alone"]
    shares = {row[0]: row[1].get("share") for row in figures["rows"]}
    assert shares["`albert_tf`"] == pytest.approx(alone / seconds["albert_tf"])
    assert shares["`products_alone`"] is None
