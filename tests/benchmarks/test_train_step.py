"""The benchmark runs: our own side, tiny."""

import json

import pytest

from albert_tf.errors import UserError
from benchmarks import train_step

TINY = {
    "vocab_size": 200,
    "embedding_size": 8,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 32,
}


def test_own_side_is_timed_on_a_batch_and_on_records(tmp_path, capsys):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(TINY))
    options = train_step.Options(
        albert_config_file=str(config),
        shapes="32x4x5",
        sides="hugging_face",
        torch_python="false",  # A program that fails, as an import would.
        rounds=1,
        steps=1,
    )
    found = train_step.benchmark(options)
    assert set(found["32x4x5"]) == {"albert_tf", "records"}
    assert all(seconds > 0 for seconds in found["32x4x5"].values())
    printed = capsys.readouterr().out
    assert "hugging_face is left out" in printed
    assert "times that on one batch" in printed


@pytest.mark.parametrize(
    ("changes", "message"), [({"shapes": "32x4"}, "--shapes"), ({"sides": "x"}, "x")]
)
def test_refuses(changes, message):
    with pytest.raises(UserError, match=message):
        train_step.benchmark(
            train_step.Options(**{"measure_records": False, **changes})
        )
