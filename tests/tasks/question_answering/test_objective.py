"""The losses of both versions, their weighting, and the official gradients."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tasks.question_answering.objective import QuestionAnsweringObjective

FEATURES = ("input_ids", "input_mask", "segment_ids")
SCORES = np.random.default_rng(4).normal(size=(2, 3, 6)).astype(np.float32)
LABELS = np.array([[2, 3, 0], [0, 0, 1], [4, 4, 0]], np.int32)
CLS = np.array([-1.5, 0.5, 2.0], np.float32)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def run(version, rows, **extra):
    batch = {name: tf.ones([len(rows), 6], tf.int32) for name in FEATURES}
    batch |= {"labels": tf.constant(LABELS[rows]), **extra}
    objective = QuestionAnsweringObjective(version)

    def model(features, training, dropout_seed):
        names = list(FEATURES) + ["start_positions"] * (version == 2)
        assert sorted(features) == sorted(names)
        scores = SCORES[:, rows]
        if version == 1:
            return {"start_logits": scores[0], "end_logits": scores[1]}
        np.testing.assert_array_equal(features["start_positions"], LABELS[rows, 0])
        scores = log_softmax(scores)
        return {
            "start_log_probs": tf.constant(scores[0]),
            "end_log_probs": tf.constant(scores[1]),
            "cls_logits": tf.constant(CLS[rows]),
        }

    losses, metrics = objective(model, batch, training=True, dropout_seed=None)
    assert tuple(losses) == objective.loss_terms
    assert tuple(metrics) == objective.metric_names
    weights = objective.denominators(batch)
    losses = {term: float(loss / weights[term]) for term, loss in losses.items()}
    return losses, {name: float(a / b) for name, (a, b) in metrics.items()}


@pytest.mark.parametrize("version", [1, 2])
def test_losses(version):
    losses, metrics = run(version, [0, 1, 2])
    log_probs = log_softmax(SCORES)
    span = [
        -0.5 * (log_probs[0, row, start] + log_probs[1, row, end])
        for row, (start, end, _) in enumerate(LABELS)
    ]
    assert losses["span"] == pytest.approx(np.mean(span), rel=1e-5)
    right = SCORES.argmax(-1) == LABELS[:, :2].T
    assert metrics["span_accuracy"] == pytest.approx(right.all(0).mean())
    if version == 2:
        none = 1 / (1 + np.exp(-CLS))
        chosen = np.where(LABELS[:, 2] == 1, none, 1 - none)
        expected = -0.5 * np.log(chosen).mean()
        assert losses["answerable"] == pytest.approx(expected, rel=1e-5)
        assert metrics["answerable_accuracy"] == pytest.approx(2 / 3)


def test_padding_has_no_part_in_the_loss():
    def loss(width, **options):
        mask = np.arange(width)[None] < np.array([[4], [6]])
        # Padding has scores, and high ones.
        scores = np.pad(SCORES[0, :2], [[0, 0], [0, width - 6]], constant_values=3)
        batch = dict.fromkeys(FEATURES, tf.constant(mask.astype(np.int32)))
        batch["labels"] = tf.constant(LABELS[:2])
        outputs = dict.fromkeys(("start_logits", "end_logits"), tf.constant(scores))
        objective = QuestionAnsweringObjective(1, **options)
        losses, metrics = objective(lambda *_, **__: outputs, batch, True, None)
        return float(losses["span"]), float(metrics["span_accuracy"][0])

    assert loss(8) == loss(20) == pytest.approx(loss(6), rel=1e-6)
    assert len({loss(width, counts_padding=True) for width in (6, 8, 20)}) == 3


@pytest.mark.parametrize("version", [1, 2])
def test_padded_rows_do_not_count(version):
    weights = tf.constant([1.0, 0.0, 1.0])
    assert run(version, [0, 1, 2], example_weights=weights) == run(version, [0, 2])
