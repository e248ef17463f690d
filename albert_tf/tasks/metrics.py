"""Evaluation metrics, most of them functions of NumPy arrays.

Each equals its scikit-learn or scipy namesake, including degenerate inputs: if a
denominator is zero, F1 and Matthews correlation are 0, as in scikit-learn, and
correlations of a constant are NaN, as in scipy. Entities count as in conlleval and
seqeval.
"""

import collections

import numpy as np

_BINS = 15
LOWER_IS_BETTER = frozenset({"loss", "MSE", "calibration_error"})
"""The scores of which the lowest is the best."""


def accuracy(labels, predictions):
    """Computes the fraction of correct rows; in `[N, L]`, rows must match entirely."""
    right = np.asarray(labels) == np.asarray(predictions)
    if right.ndim == 2:
        right = right.all(axis=1)  # [N, L] -> [N]
    return float(right.mean()) if right.size else float("nan")


def f1(labels, predictions):
    """Computes F1 of class 1 for ints `[N]`; micro-average for multi-label `[N, L]`."""
    labels, predictions = np.asarray(labels) == 1, np.asarray(predictions) == 1
    hits = np.sum(labels & predictions)
    return _ratio(2.0 * hits, labels.sum() + predictions.sum())


def macro_f1(labels, predictions):
    """Computes the unweighted mean F1 of the classes in labels or predictions.

    In `[N, L]`, of 0 and 1, it is the mean of all L labels.
    """
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    if labels.ndim == 2:
        pairs = zip(labels.T, predictions.T, strict=True)
        return float(np.mean([f1(*pair) for pair in pairs]))
    present = np.union1d(labels, predictions)
    return float(np.mean([f1(labels == c, predictions == c) for c in present]))


def auc(labels, scores):
    """Computes the area under the ROC curve: each class against the rest, their mean.

    Classes that all or no rows have do not count; NaN if there are no others.

    Args:
        labels: int `[N]`, or `[N, L]` of 0 and 1.
        scores: `[N, L]`, higher where the label is more probable.
    """
    labels = np.asarray(labels)
    if labels.ndim == 1:
        labels = labels[:, None] == np.arange(scores.shape[1])  # [N] -> [N, L]
        if scores.shape[1] == 2:  # whose curves mirror each other
            labels, scores = labels[:, 1:], scores[:, 1:]
    areas = []
    for has, own in zip(labels.T.astype(bool), scores.T, strict=True):
        pairs = has.sum() * (~has).sum()
        if pairs:
            least = has.sum() * (has.sum() + 1) / 2
            areas.append((_ranks(own)[has].sum() - least) / pairs)
    return float(np.mean(areas)) if areas else float("nan")


def calibration_error(labels, probabilities):
    """Computes the expected calibration error in 15 bins of equal width.

    Guo et al., arXiv 1706.04599, formula 3: the mean distance of a bin's confidence and
    its share of right answers. The answer is the most probable class; with several
    labels, each probability is the confidence that its label applies.

    Args:
        labels: int `[N]`, or `[N, L]` of 0 and 1.
        probabilities: `[N, L]`.
    """
    labels = np.asarray(labels)
    right, confidence = labels.ravel(), np.float64(probabilities).ravel()
    if labels.ndim == 1:
        right = labels == probabilities.argmax(axis=1)
        confidence = np.float64(probabilities).max(axis=1)
    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(bins, confidence - right)
    return float(np.abs(gaps).sum() / len(confidence))


def matthews(labels, predictions):
    """Computes the Matthews correlation of two or more integer classes `[N]`."""
    labels, predictions = np.asarray(labels), np.asarray(predictions)
    size = int(max(labels.max(), predictions.max())) + 1
    confusion = confusion_matrix(labels, predictions, size).astype(np.float64)
    true, predicted = confusion.sum(axis=1), confusion.sum(axis=0)  # [C]
    count = confusion.sum()
    covariance = np.trace(confusion) * count - true @ predicted
    spread = (count**2 - true @ true) * (count**2 - predicted @ predicted)
    return _ratio(covariance, np.sqrt(spread))


def pearson(labels, predictions):
    """Computes the Pearson correlation of `[N]` floats; NaN if either is constant."""
    x = np.asarray(labels, np.float64)
    y = np.asarray(predictions, np.float64)
    if not (len(x) and np.ptp(x) and np.ptp(y)):
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(labels, predictions):
    """Computes the Pearson correlation of the ranks; ties share their mean rank."""
    return pearson(_ranks(labels), _ranks(predictions))


def mean_squared_error(labels, predictions):
    """Computes the mean squared difference of `[N]` floats."""
    difference = np.asarray(labels, np.float64) - np.asarray(predictions, np.float64)
    return float(np.mean(difference**2))


def r_squared(labels, predictions):
    """Computes the share of the variance of `[N]` floats that predictions explain."""
    labels = np.asarray(labels, np.float64)
    rest = np.sum((labels - np.asarray(predictions, np.float64)) ** 2)
    spread = np.sum((labels - labels.mean()) ** 2)
    return float(1 - rest / spread) if spread else float(rest == 0)


def cross_entropy(labels, logits):
    """Computes the mean cross-entropy of labels, int `[N]`, and `[N, L]` logits."""
    logits = logits.astype(np.float64)
    chosen = np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(logits, axis=1) - chosen))


def softmax(logits):
    """Computes the probabilities of `[N, L]` logits."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def log_softmax(logits):
    """Computes the logarithm of `softmax`, without underflow."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def confusion_matrix(labels, predictions, num_labels):
    """Counts `[num_labels, num_labels]`; rows are labels, columns are predictions."""
    pairs = np.asarray(labels) * num_labels + np.asarray(predictions)
    counts = np.bincount(pairs.astype(np.int64), minlength=num_labels**2)
    return counts.reshape(num_labels, num_labels)  # [C * C] -> [C, C]


def per_class(confusion):
    """Computes precision, recall, F1, support of each class of a confusion matrix."""
    counts = np.diag(confusion), confusion.sum(axis=0), confusion.sum(axis=1)
    return [
        {**_figures("", hits, predicted, support), "support": int(support)}
        for hits, predicted, support in zip(*counts, strict=True)
    ]


def _ratio(numerator, denominator):
    return float(numerator / denominator) if denominator else 0.0


def _ranks(values):
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[inverse]


METRICS = {
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
    "matthew_corr": matthews,
    "pearson": pearson,
    "spearman": spearman,
    "MSE": mean_squared_error,
}
"""Metrics by their reported names, which are the official names if there are any."""


def task_scores(task, labels, outputs):
    """Computes the `metrics` of a `TextTask`, which all are in `METRICS`.

    Args:
        labels: as `TextTask.parse_label` makes them, one for each row.
        outputs: the model's, `[N, outputs]`.
    """
    predictions = task.predictions(outputs)
    return {name: METRICS[name](labels, predictions) for name in task.metrics}


def entity_scores(expected, found, types=()):
    """Scores entities, over all types and by type.

    An entity is correct if its type, start and end are. A score is 0 if its denominator
    is.

    Args:
        expected, found: for each text a list of entities, tuples whose first item is
            the type.
        types: types to score even if no entity has them.

    Returns:
        A dict of floats: `precision`, `recall`, `f1`; by type, with names such as
        `PER_precision` for the type PER.
    """
    right, answered, asked = (collections.Counter() for _ in range(3))
    for gold, predicted in zip(expected, found, strict=True):
        gold, predicted = set(gold), set(predicted)
        asked.update(entity[0] for entity in gold)
        answered.update(entity[0] for entity in predicted)
        right.update(entity[0] for entity in gold & predicted)
    scores = _figures("", right.total(), answered.total(), asked.total())
    for label in sorted({*types, *asked, *answered}):
        counts = right[label], answered[label], asked[label]
        scores |= _figures(f"{label}_", *counts)
    return scores


def tag_scores(expected, found):
    """Computes accuracy and macro F1 of plain tags.

    As in scikit-learn, macro F1 is the mean over the tags that are expected or found.

    Args:
        expected: the tag of each word; None for an unknown tag, which does not count.
        found: the predicted tag of each word.

    Returns:
        A dict of floats: `accuracy` and `macro_f1`, 0 without words.
    """
    pairs = [pair for pair in zip(expected, found, strict=True) if pair[0] is not None]
    right = collections.Counter(gold for gold, own in pairs if gold == own)
    total = collections.Counter(tag for pair in pairs for tag in pair)
    by_tag = [2 * right[tag] / count for tag, count in total.items()]
    return {
        "accuracy": right.total() / max(len(pairs), 1),
        "macro_f1": sum(by_tag) / max(len(by_tag), 1),
    }


def _figures(prefix, right, answered, asked):
    return {
        f"{prefix}precision": _ratio(right, answered),
        f"{prefix}recall": _ratio(right, asked),
        f"{prefix}f1": _ratio(2.0 * right, answered + asked),
    }
