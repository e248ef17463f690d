"""The losses of the three kinds of task, and their weighting."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.tasks.registry import create_task
from albert_tf.tasks.task import Prepared
from albert_tf.tasks.tokenized_examples import TokenizedExamples

_LOGITS = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)
_LABELS = {
    "single_label": np.array([0, 2, 1, 1], np.int32),
    "multi_label": np.array([[0, 1, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], np.int32),
    "regression": np.array([0.5, 2.0, -1.0, 3.0], np.float32),
}


def _task(kind):
    labels = () if kind == "regression" else ("a", "b", "c")
    return create_task(kind, "t", labels=labels)


def _run(kind, rows, **extra):
    logits = _LOGITS[:, :1] if kind == "regression" else _LOGITS
    batch = {name: tf.ones([len(rows), 2], tf.int32) for name in ("input_ids",)}
    batch |= dict.fromkeys(("input_mask", "segment_ids"), batch["input_ids"])
    batch |= {"labels": tf.constant(_LABELS[kind][rows]), **extra}
    objective = _task(kind).objective()

    def model(features, training, dropout_seed):
        assert sorted(features) == ["input_ids", "input_mask", "segment_ids"]
        return tf.constant(logits[rows])

    losses, metrics = objective(model, batch, training=True, dropout_seed=None)
    weight = objective.denominators(batch)["classification"]
    assert set(metrics) == set(objective.metric_names)
    return losses["classification"] / weight, metrics, logits


@pytest.mark.parametrize("kind", sorted(_LABELS))
def test_loss_and_accuracy_equal_those_of_the_evaluation(kind):
    loss, metrics, logits = _run(kind, [0, 1, 2, 3])
    tokens = TokenizedExamples(None, None, None, None, _LABELS[kind])
    expected = _task(kind).score(Prepared(None, tokens), logits)
    assert float(loss) == pytest.approx(expected["loss"], rel=1e-5)
    if kind != "regression":
        right, rows = metrics["accuracy"]
        assert float(right / rows) == expected["accuracy"]


@pytest.mark.parametrize("kind", sorted(_LABELS))
def test_padded_rows_do_not_count(kind):
    loss, metrics, _ = _run(
        kind, [0, 1, 2], example_weights=tf.constant([1.0, 1.0, 0.0])
    )
    expected, expected_metrics, _ = _run(kind, [0, 1])
    assert float(loss) == pytest.approx(float(expected))
    assert {k: [float(x) for x in v] for k, v in metrics.items()} == {
        k: [float(x) for x in v] for k, v in expected_metrics.items()
    }
