"""Few-shot learning: contrastive training of the encoder, then a linear head.

Source: Tunstall et al., "Efficient Few-Shot Learning Without Prompts" (SetFit, 2022),
section 3.
"""

import dataclasses

import numpy as np

from albert_tf.errors import UserError
from albert_tf.families.albert import ALBERT
from albert_tf.models.base import seeded
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.tasks.fitting import TaskLoss
from albert_tf.tasks.fitting import fit
from albert_tf.tasks.metrics import softmax
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.registry import read_task
from albert_tf.tasks.similarity.task import Similarity

_PARTNERS = 20  # positive pairs, and as many negative ones, per text; the paper's "R"
_STEPS = 10_000  # maximum number of steps for the head
_SMALLEST_GRADIENT = 1e-6


def few_shot_arguments(opened, kind):
    """Returns the constructor arguments of a classifier for few-shot learning.

    The classifier pools as the embedding model that it starts from; from other models,
    it uses mean pooling.

    Args:
        opened: the `Bundle` that training starts from.
        kind: the kind of the labels.

    Raises:
        UserError: texts do not have exactly one label, or the model is an XLNet.
    """
    if kind != "single_label":
        raise UserError(
            f"few_shot learns one label for each text, not {kind}; leave few_shot out."
        )
    if opened.family not in (ALBERT, None):
        raise UserError(
            "few_shot needs an ALBERT, a BERT or a RoBERTa, which "
            f"{opened.path} is not; leave few_shot out."
        )
    told = read_task(opened)
    pooling = told.pooling if isinstance(told, Similarity) else "mean"
    return {"pooling": "mean" if pooling == "pooler" else pooling}


def learn_from_few(model, examples, **fitting):
    """Trains the encoder of a classifier on pairs of texts, and then its head.

    Args:
        model: an `AlbertForSequenceClassification` with a `pooling`.
        examples: `TokenizedExamples` with one label each.
        **fitting: other arguments of `tasks.fitting.fit` for the pairs, 40 per text.

    Returns:
        Keras' `History` of the encoder's training.

    Raises:
        UserError: all texts have the same label, or texts have weights.
    """
    if examples.weights is not None:
        raise UserError("few_shot compares texts, which have no weights; give none.")
    with seeded(fitting["seed"]):
        vectors = AlbertForTextEmbedding(
            model.config, model.pooling, normalize=True, encoder=model.albert
        )
    rows, scores = contrastive_pairs(examples.labels, fitting["seed"])
    pairs = dataclasses.replace(examples, labels=None).take(rows)
    pairs = dataclasses.replace(pairs, labels=scores)
    loss = TaskLoss(Similarity(name="few_shot", loss="cosine"))
    history = fit(vectors, pairs, loss, **fitting)
    outputs = OutputsPredictor(vectors, fitting["batch_size"], fitting["max_length"])
    found = outputs(examples)
    weights, bias = logistic_regression(found, examples.labels, model.num_labels)
    model.classifier.output_weights.assign(weights)
    model.classifier.output_bias.assign(bias)
    return history


def contrastive_pairs(labels, seed):
    """Samples pairs of texts: score 1 for the same label, 0 for different labels.

    Args:
        labels: int `[texts]`.
        seed: the seed of the sampling.

    Returns:
        The indices of both texts, int `[pairs, 2]`, and scores, float32 `[pairs]`.

    Raises:
        UserError: all texts have the same label.
    """
    random = np.random.default_rng(seed)
    if len(np.unique(labels)) < 2:
        raise UserError(
            "few_shot compares texts of different labels, but all texts have the same; "
            "give texts of two labels or more."
        )
    pairs, scores = [], []
    for place, label in enumerate(labels):
        same = np.flatnonzero(labels == label)
        same = same[same != place] if len(same) > 1 else same
        for score, others in ((1.0, same), (0.0, np.flatnonzero(labels != label))):
            partners = random.choice(others, _PARTNERS)
            pairs.append(np.stack([np.full(_PARTNERS, place), partners], axis=1))
            scores.append(np.full(_PARTNERS, score, np.float32))
    return np.concatenate(pairs), np.concatenate(scores)


def logistic_regression(vectors, labels, num_labels):
    """Fits a linear classifier by Nesterov's accelerated gradient descent.

    Like scikit-learn's `LogisticRegression`, it minimizes the sum of the cross-entropy
    and half the squared norm of the weights.

    Args:
        vectors: float `[texts, hidden]`, unit vectors.
        labels: int `[texts]`.
        num_labels: int.

    Returns:
        Weights `[labels, hidden]` and bias `[labels]`, float32.
    """
    inputs = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)
    inputs = inputs.astype(np.float64)
    expected = np.eye(num_labels)[labels]
    # With two labels, the penalty is on the single vector that separates them.
    penalty = np.full(inputs.shape[1], 2.0 if num_labels == 2 else 1.0)
    penalty[-1] = 0
    rate = 1 / (0.5 * np.linalg.norm(inputs, 2) ** 2 + penalty[0])
    weights = ahead = np.zeros((num_labels, inputs.shape[1]))
    momentum = 1.0
    for _ in range(_STEPS):
        shares = softmax(inputs @ ahead.T)
        gradient = (shares - expected).T @ inputs + penalty * ahead
        if np.abs(gradient).max() < _SMALLEST_GRADIENT:
            break
        before, weights = weights, ahead - rate * gradient
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = weights + (momentum - 1) / grown * (weights - before)
        momentum = grown
    weights = weights.astype(np.float32)
    return weights[:, :-1], weights[:, -1]
