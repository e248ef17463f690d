"""Distances to a teacher's outputs: their values, gradients and weights."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.objectives.distillation import sigmoid_distances
from albert_tf.objectives.distillation import softmax_distances
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.batching import TEACHER_LOGITS
from albert_tf.tasks.distillation import with_teacher
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.similarity.task import vectors_of_width

_RANDOM = np.random.default_rng(7)
OWN, TEACHER = (_RANDOM.normal(size=(4, 3)).astype(np.float32) for _ in range(2))
WIDE, TAUGHT = (_RANDOM.normal(size=(4, 6, 3)).astype(np.float32) for _ in range(2))
LABELS = np.array([0, 2, 1, 1], np.int32)


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def divergence(own, teacher, temperature):
    own, teacher = (log_softmax(np.float64(x) / temperature) for x in (own, teacher))
    return temperature**2 * (np.exp(teacher) * (teacher - own)).sum(-1)


def of_yes_and_no(own, teacher, temperature):
    both = (np.stack([x, np.zeros_like(x)], -1) for x in (own, teacher))
    return divergence(*both, temperature)


def cosines(own, teacher):
    lengths = np.linalg.norm(own, axis=-1) * np.linalg.norm(teacher, axis=-1)
    return (own * teacher).sum(-1) / lengths


def of_sides(own, teacher, temperature):
    """Of starts and ends, `[B, T, 2]`."""
    return sum(
        divergence(own[..., i], teacher[..., i], temperature) / 2 for i in (0, 1)
    )


def task_of(kind):
    if kind == "similarity, squared":
        return create_task("similarity", "t", teacher_distance="squared")
    labels = {"labels": ("O", "B-a", "I-a")} if kind == "tagging" else {}
    if kind in ("single_label", "multi_label"):
        labels = {"labels": ("a", "b", "c")}
    return create_task(kind, "t", **labels)


# Of each kind of task: logits, and the reference.
CASES = {
    "single_label": (OWN, TEACHER, divergence),
    "multi_label": (OWN, TEACHER, lambda *x: of_yes_and_no(*x).mean(-1)),
    "regression": (
        OWN[:, :1],
        TEACHER[:, :1],
        lambda own, teacher, _: np.square(own - teacher)[:, 0],
    ),
    # The batch has three options at most, the training set has four.
    "multiple_choice": (
        OWN,
        np.pad(TEACHER, [[0, 0], [0, 1]], constant_values=-1e9),
        lambda own, teacher, t: divergence(own, teacher[:, :3], t),
    ),
    "tagging": (WIDE, TAUGHT, divergence),
    # Vectors of six texts.
    "similarity": (WIDE, TAUGHT, lambda *x: 1 - cosines(*x[:2]).mean(-1)),
    "similarity, squared": (
        WIDE,
        TAUGHT,
        lambda own, teacher, _: np.square(own - teacher).sum(-1).mean(-1),
    ),
    "squad_v1": (WIDE[..., :2], TAUGHT[..., :2], of_sides),
    "squad_v2": (
        WIDE,
        TAUGHT,
        lambda own, teacher, t: (
            of_sides(own[..., :2], teacher[..., :2], t)
            + of_yes_and_no(own[:, 0, 2], teacher[:, 0, 2], t) / 2
        ),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_distances_equal_numpy(kind):
    own, teacher, reference = CASES[kind]
    for temperature in (1.0, 3.0):
        found = task_of(kind).distances(tf.constant(own), teacher, temperature)
        expected = reference(own, teacher, temperature)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("distances", "shares"),
    [
        (softmax_distances, lambda x: np.exp(log_softmax(x))),
        (sigmoid_distances, lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_their_gradients_are_differences_of_probabilities(distances, shares):
    logits, temperature = tf.constant(OWN), 3.0
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_sum(distances(logits, TEACHER, temperature))
    own, teacher = (shares(x / temperature) for x in (OWN, TEACHER))
    expected = temperature * (own - teacher)
    np.testing.assert_allclose(tape.gradient(loss, logits), expected, 1e-4, 1e-6)


@pytest.mark.parametrize("width", [2, 4, 6])
def test_vectors_of_another_width_keep_their_cosines(width):
    """As far as there is room: they lie in a plane of four dimensions."""
    plane, _ = np.linalg.qr(_RANDOM.normal(size=(4, 2)))
    vectors = np.float32(_RANDOM.normal(size=(5, 3, 2)) @ plane.T)
    found = vectors_of_width(vectors, width)
    assert found.shape == (5, 3, width)
    assert found.dtype == np.float32
    for one, other in ((0, 1), (1, 2)):
        np.testing.assert_allclose(
            cosines(found[:, one], found[:, other]),
            cosines(vectors[:, one], vectors[:, other]),
            atol=1e-5,
        )


@pytest.mark.parametrize("masked", [-1e30, -1e9])
def test_what_neither_sees_changes_nothing(masked):
    own, teacher = (
        np.concatenate([x, np.full((4, 2), masked, np.float32)], 1)
        for x in (OWN, TEACHER)
    )
    logits = tf.constant(own)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        found = softmax_distances(logits, teacher, 2.0)
    np.testing.assert_allclose(found, divergence(OWN, TEACHER, 2.0), rtol=1e-5)
    gradient = tape.gradient(found, logits).numpy()
    assert np.isfinite(gradient).all()
    assert not gradient[:, 3:].any()


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_the_teacher_has_a_share_of_the_loss(weight):
    """And padded rows have none."""
    task = task_of("single_label")
    flags = types.SimpleNamespace(teacher_weight=weight, teacher_temperature=2.0)
    plain = task.objective()
    objective = with_teacher(plain, task, flags)
    weights = np.array([1, 0, 1, 1], np.float32)
    batch = {name: tf.ones([4, 2], tf.int32) for name in FEATURES}
    batch |= {"labels": LABELS, "example_weights": weights, TEACHER_LOGITS: TEACHER}
    losses, _ = objective(lambda *_, **__: tf.constant(OWN), batch, True, None)
    assert objective.loss_terms == ("classification", "teacher")
    of_labels = -log_softmax(OWN)[np.arange(4), LABELS]
    totals = objective.denominators(batch)
    found = sum(objective.scales[n] * losses[n] / totals[n] for n in losses)
    both = (1 - weight) * of_labels + weight * divergence(OWN, TEACHER, 2.0)
    np.testing.assert_allclose(found, (both * weights).sum() / 3, rtol=1e-5)
    assert plain.scales == {"classification": 1.0}  # as it was


def test_layers_that_may_answer_learn_by_depth():
    task = dataclasses.replace(task_of("single_label"), early_exit=object())
    flags = types.SimpleNamespace(teacher_weight=1.0, teacher_temperature=2.0)
    objective = with_teacher(task_of("single_label").objective(), task, flags)
    outputs = tf.stack([OWN, 2 * OWN], axis=1)  # [B, layers, L]
    batch = {"input_ids": tf.ones([4, 2], tf.int32), TEACHER_LOGITS: TEACHER}
    loss, _ = objective.terms[-1].sums(outputs, batch)
    first, second = (divergence(own, TEACHER, 2.0).sum() for own in (OWN, 2 * OWN))
    np.testing.assert_allclose(loss, (first + 2 * second) / 3, rtol=1e-5)
