"""The verify command: on the stored outputs of others, and on broken ones."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints.huggingface import save_huggingface
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from tools import verify


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("official_tf1_lamb", 76),
        ("official_tf1_adamw", 76),
        ("huggingface_pretraining", 7),
        ("real_weights_kokoro", 13),
    ],
)
def test_stored_outputs_of_others(name, arrays, shared, capsys):
    verify.main(["", str(shared(f"fixtures/{name}"))])
    assert f"{arrays} of {arrays} arrays agree" in capsys.readouterr().out


def make_directory(model, features, folder):
    """A directory as another program would write it, with the outputs of `model`."""
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
    return expected


@pytest.fixture
def made(tiny_config, tiny_features, tmp_path):
    model = AlbertForPreTraining(tiny_config())
    folder = tmp_path / "made"
    return folder, make_directory(model, tiny_features, folder)


@pytest.mark.slow
def test_one_state_a_layer(tiny_config, tiny_features, tmp_path):
    model = AlbertForPreTraining(tiny_config(inner_group_num=2))
    folder = tmp_path / "made"
    expected = make_directory(model, tiny_features, folder)
    for i in range(8):
        state = expected.pop(f"layer_{i}")
        if i % 2:
            expected[f"layer_{i // 2}"] = state
    np.savez(folder / "expected.npz", **dict(sorted(expected.items())))
    deviations, unknown = verify.verify(folder)
    assert len(deviations) == len(expected)
    assert not unknown
    assert all(deviation.passed for deviation in deviations)


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
    with open(folder / "expected.npz", "wb") as file:
        np.save(file, np.zeros(2))
    with pytest.raises(UserError, match="is not an npz file"):
        verify.verify(folder)
