"""Training and scoring of models that answer before the last layer."""

import json

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import log_softmax
from scipy.special import softmax

from albert_tf.exit_rule import ExitRule
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.flags import EarlyExitFlags
from albert_tf.objectives.base import EXAMPLE_WEIGHTS
from albert_tf.tasks.prediction import early_scores
from albert_tf.tasks.prediction import exit_layers
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from tests.tasks.conftest import results

_LABELS = np.array([0, 2, 1, 1], np.int32)
_OUTPUTS = np.random.default_rng(5).normal(size=(4, 3, 3)).astype(np.float32)


def _task(**flags):
    exits, labels = EarlyExitFlags(early_exit=True, **flags), ("a", "b", "c")
    return create_task("single_label", "t", labels=labels, early_exit=exits)


def _cross_entropy(logits, shares):
    return -(shares * log_softmax(logits, axis=1)).sum(-1).mean()


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_loss_weighs_layers_by_depth(share):
    objective = _task(early_exit_distillation=share).objective()
    ones = tf.ones([4, 2], tf.int32)
    batch = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ones)
    batch["labels"] = tf.constant(_LABELS)
    # A row of padding does not count.
    batch[EXAMPLE_WEIGHTS] = tf.constant([1.0, 1.0, 0.0, 1.0])
    outputs, labels = (np.delete(values, 2, axis=0) for values in (_OUTPUTS, _LABELS))

    def model(features, training, dropout_seed, all_layers):
        assert all_layers
        return tf.constant(_OUTPUTS)

    losses, metrics = objective(model, batch, training=True, dropout_seed=None)
    teacher, expected = softmax(outputs[:, 2], axis=1), 0
    entropy = _cross_entropy(outputs[:, 2], teacher)
    for layer in range(3):
        own = _cross_entropy(outputs[:, layer], np.eye(3)[labels])
        own += share * (_cross_entropy(outputs[:, layer], teacher) - entropy)
        expected += own * (layer + 1) / 6
    assert float(losses["classification"] / 3) == pytest.approx(expected, rel=1e-5)
    right, rows = metrics["accuracy"]
    assert float(right / rows) == np.mean(outputs[:, 2].argmax(-1) == labels)


def test_the_last_head_learns_from_labels_alone():
    """However much the earlier ones learn of it."""
    found = []
    for share in (0.0, 1.0):
        term = _task(early_exit_distillation=share).objective().terms[0]
        logits = tf.constant(_OUTPUTS)
        batch = {"labels": tf.constant(_LABELS), "input_ids": tf.ones([4, 2])}
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss, _ = term.sums(logits, batch)
        found.append(tape.gradient(loss, logits).numpy())
    np.testing.assert_allclose(found[0][:, -1], found[1][:, -1], atol=1e-7)
    assert np.abs(found[0] - found[1])[:, :-1].min() > 1e-4


def test_early_answers_have_scores_of_their_own():
    tokens = TokenizedExamples(None, None, None, None, _LABELS)
    rule = ExitRule("probability", 0.5)
    layers = exit_layers(_OUTPUTS, rule, "single_label")
    sure = softmax(_OUTPUTS, axis=2).max(-1) > 0.5
    expected = [next((i for i in range(2) if row[i]), 2) + 1 for row in sure]
    assert layers.tolist() == expected and len(set(expected)) > 1
    prepared = Prepared(None, tokens)
    scores = early_scores(_task(), prepared, _OUTPUTS, rule, "single_label")
    early = _OUTPUTS[np.arange(4), layers - 1]
    assert scores["exit_accuracy"] == np.mean(early.argmax(-1) == _LABELS)
    assert scores["exit_layer"] == np.mean(expected)
    # The task of a model says nothing of its heads.
    assert "early_exit" not in _task().to_dict()
    arguments = _task(exit_heads="shared", exit_threshold=2.0).model_arguments()
    assert arguments["exit_heads"] == "shared"
    assert arguments["exit_rule"] == ExitRule("patience", 2)


@pytest.mark.slow
def test_train_score_and_load(flags, tmp_path):
    path = tmp_path / "tiny.json"
    values = {**json.loads(path.read_text()), "num_hidden_layers": 4}
    path.write_text(json.dumps(values))
    exits = {"early_exit": True, "exit_heads": "per_layer", "exit_threshold": 1}
    out = flags(do_train=True, **exits)
    history = json.loads((out / "history.json").read_text())
    assert history[-1]["exit_layer"] <= 4
    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.exit_heads == "per_layer"
    assert model.exit_rule == ExitRule("patience", 1)
    # Without --do_train the model says how it leaves.
    flags(do_eval=True)
    scores = results(out)
    assert scores["eval_accuracy"] == 1.0
    assert scores["exit_accuracy"] > 0.8
    assert 2 <= scores["exit_layer"] < 4
