"""The benchmark runs: our own side, tiny."""

import json
import subprocess
import sys

import pytest

from albert_tf.xlnet.config import XLNetConfig
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
    assert set(found["32x4x5"]) == names
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


@pytest.mark.nightly
def test_a_step_of_xlnet(tmp_path, capsys):
    config = XLNetConfig(
        n_token=50, d_model=8, n_layer=1, n_head=2, d_head=4, d_inner=16, mem_len=4
    )
    config.to_json_file(tmp_path / "config.json")
    options = train_step.Options(
        model="xlnet",
        albert_config_file=str(tmp_path / "config.json"),
        shapes="16x4x3",
        torch_python="false",
        rounds=1,
    )
    found = train_step.benchmark(options)
    assert list(found["16x4x3"]) == ["albert_tf"]
    assert "hugging_face is left out" in capsys.readouterr().out


_MODERNBERT = """
import json, sys
from benchmarks.sides.hugging_face import _MODELS
setting = json.loads(sys.argv[1])
make_model, make_inputs = _MODELS["modernbert"]
model = make_model(setting)
outputs = model(**make_inputs(setting["batch"]))
config = model.config
print(config.intermediate_size, {*config.layer_types}, *outputs.logits.shape)
"""


@pytest.mark.nightly
def test_modernbert_computes_as_many_operations(tiny_config):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    config = tiny_config(vocab_size=200, num_attention_heads=2, intermediate_size=96)
    batch = {"tokens": 16, "batch_size": 2, "predictions": 3, "vocab_size": 200}
    setting = json.dumps({"config": config.to_dict(), "batch": batch})
    printed = subprocess.run(  # torch bears no TensorFlow in its process
        [sys.executable, "-c", _MODERNBERT, setting],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    # Logits of the masked tokens only.
    assert printed.split("\n")[-2] == "64 {'full_attention'} 6 200"
