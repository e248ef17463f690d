"""The verify command on broken recordings."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from tools import verify


@pytest.fixture
def made(tiny_config, tiny_features, tmp_path):
    """A directory as another program would write it, and its expected arrays."""
    model, features = AlbertForPreTraining(tiny_config()), tiny_features
    folder = tmp_path / "made"
    folder.mkdir()
    save_huggingface(model, folder)
    inputs = {
        **features,
        "masked_lm_ids": np.array([[3, 5, 7], [2, 9, 0]], "int32"),
        "masked_lm_weights": np.array([[1, 1, 1], [1, 1, 0]], "float32"),
        "sentence_order_labels": np.array([0, 1], "int32"),
    }
    np.savez(folder / "inputs.npz", **inputs)
    encoded = model.albert(features)
    outputs = model(features)
    masked_lm = tf.nn.log_softmax(outputs["masked_lm_logits"])
    expected = {f"layer_{i}": h for i, h in enumerate(encoded["hidden_states"])}
    expected["sequence_output"] = outputs["sequence_output"]
    expected["mlm_log_probs"] = tf.reshape(masked_lm, (6, 37))
    sentence_order = tf.nn.log_softmax(outputs["sentence_order_logits"])
    expected["sop_log_probs"] = sentence_order
    expected["sop_loss"] = -(sentence_order[0, 0] + sentence_order[1, 1]) / 2
    expected = {name: np.asarray(array) for name, array in expected.items()}
    np.savez(folder / "expected.npz", **expected)
    return folder, expected


def test_deviations_fail(made, capsys):
    folder, expected = made
    for name, change in (("layer_1", 2e-4), ("layer_2", np.nan)):
        expected[name] = expected[name].copy()
        expected[name][1, 2, 3] += change
    expected["layer_0"] = expected["layer_0"][:1]
    np.savez(folder / "expected.npz", **expected, novelty=np.zeros(2))
    with pytest.raises(SystemExit) as exit_info:
        verify.main(["", str(folder)])
    assert exit_info.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    failed = [line.split()[0] for line in lines if "FAILED" in line]
    assert failed == ["layer_0", "layer_1", "layer_2"]
    assert "unknown arrays, not compared: novelty" in lines
    assert lines[-1] == f"{len(expected) - 3} of {len(expected)} arrays agree"


@pytest.mark.slow
def test_trajectory_needs_a_recipe(made):
    folder, expected = made
    np.savez(folder / "expected.npz", **expected, train_losses=np.zeros(2))
    with pytest.raises(UserError, match=r"train\.json cannot be read"):
        verify.verify(folder)
    (folder / "train.json").write_text(json.dumps({"optimizer": "lamb"}))
    with pytest.raises(UserError, match=r"train\.json is not a training recipe"):
        verify.verify(folder)


def test_missing_files_and_arrays(made):
    folder, expected = made
    inputs = dict(np.load(folder / "inputs.npz"))
    del inputs["masked_lm_ids"]
    np.savez(folder / "inputs.npz", **inputs)
    with pytest.raises(UserError, match=r"lacks masked_lm_ids for the losses"):
        verify.verify(folder)
    np.savez(folder / "expected.npz", novelty=np.zeros(2))
    with pytest.raises(UserError, match="holds none of the arrays"):
        verify.verify(folder)
