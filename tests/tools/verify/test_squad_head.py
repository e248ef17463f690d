"""Recordings of the heads of reading comprehension: compared, broken ones found."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints.tf1 import save_tf1_checkpoint
from albert_tf.errors import UserError
from albert_tf.models.question_answering import AlbertForAnswerableQuestions
from albert_tf.models.question_answering import AlbertForQuestionAnswering
from tools import verify

HEADS = {1: AlbertForQuestionAnswering, 2: AlbertForAnswerableQuestions}


@pytest.fixture(params=[1, 2])
def head(request, tiny_config, tiny_features, tmp_path):
    """A recording of a head, with a loss computed in NumPy."""
    model = HEADS[request.param](tiny_config())
    save_tf1_checkpoint(model, tmp_path / "model.ckpt-0")
    tiny_features.pop("masked_lm_positions")
    inputs = {
        **tiny_features,
        "p_mask": np.array([[0, 1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 0, 1, 1]], "int32"),
        "start_positions": np.array([3, 0], "int32"),
        "end_positions": np.array([5, 0], "int32"),
        "is_impossible": np.array([0, 1], "int32"),
    }
    np.savez(tmp_path / "inputs.npz", **inputs)
    features = {n: inputs[n] for n in (*tiny_features, "p_mask")}
    expected = dict(model(features))
    if request.param == 2:
        expected |= model({**features, "start_positions": inputs["start_positions"]})
        start, end = expected["start_log_probs"], expected["end_log_probs"]
        signs = np.where(inputs["is_impossible"], 1, -1) * expected["cls_logits"]
        extra = np.log1p(np.exp(-signs)).mean() / 2
    else:
        start = tf.nn.log_softmax(expected["start_logits"])
        end = tf.nn.log_softmax(expected["end_logits"])
        extra = 0
    rows = np.arange(2)
    span = np.array(start)[rows, inputs["start_positions"]]
    span = span + np.array(end)[rows, inputs["end_positions"]]
    expected["loss"] = np.float32(extra - span.mean() / 2)
    expected["grad/cls/none"] = np.zeros(2)
    expected = {name: np.array(value) for name, value in expected.items()}
    np.savez(tmp_path / "expected.npz", **expected)
    return tmp_path, expected


def test_head(head):
    folder, expected = head
    deviations, unknown = verify.verify(folder)
    assert len(deviations) == len(expected) - 1
    assert unknown == ["grad/cls/none"]
    assert all(deviation.passed for deviation in deviations)


@pytest.mark.slow
def test_another_head_fails(head):
    folder, expected = head
    for name in expected:
        if name.startswith("grad/"):
            continue
        changed = expected[name] + np.array(1e-3).astype(expected[name].dtype)
        if expected[name].dtype.kind == "i":
            changed = expected[name] + 1
        np.savez(folder / "expected.npz", **{**expected, name: changed})
        deviations, _ = verify.verify(folder)
        assert [d.name for d in deviations if not d.passed] == [name]


def test_a_checkpoint_without_the_head(head, tiny_config):
    folder, expected = head
    other = HEADS[1 if "cls_logits" in expected else 2]
    save_tf1_checkpoint(other(tiny_config()), folder / "model.ckpt-0")
    with pytest.raises(UserError, match="has no head to compare"):
        verify.verify(folder)
