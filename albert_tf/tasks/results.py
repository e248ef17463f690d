"""Scores of predictions, and the result files of a fine-tuning run."""

import numpy as np

from albert_tf.files import write_atomically
from albert_tf.files import write_json
from albert_tf.tasks import metrics
from albert_tf.tasks.prediction import probabilities
from albert_tf.tasks.text_task import MULTI_LABEL
from albert_tf.tasks.text_task import REGRESSION
from albert_tf.tasks.text_task import SINGLE_LABEL

MODEL_DIR = "model"
"""Folder of the fine-tuned model in the output directory of a run."""


def score(task, labels, logits):
    """The task's metrics and the mean loss of `[N, num_outputs]` logits.

    For a single-label task the share of the most frequent label comes with them: the
    accuracy of a model that has learned nothing.

    Returns:
        Dict of floats: `task.metrics`, `loss` and, single-label, `majority_accuracy`.
    """
    predictions = task.predictions(logits)
    scores = {name: metrics.METRICS[name](labels, predictions) for name in task.metrics}
    scores["loss"] = _loss(task, labels, logits)
    if task.kind == SINGLE_LABEL:
        scores["majority_accuracy"] = float(np.bincount(labels).max() / len(labels))
    return scores


def write_test_results(path, task, logits):
    """Writes the probabilities (or the value) of each row, tab-separated."""
    rows = ["\t".join(map(str, row)) for row in probabilities(task, logits)]
    write_atomically(path, "\n".join(rows) + "\n")


def write_submission(path, task, table, logits):
    """Writes `index<TAB>prediction`, as the GLUE server takes it."""
    lines = ["index\tprediction"]
    for row, prediction in zip(table.rows, task.predictions(logits), strict=True):
        lines.append(f"{row}\t{task.label_text(prediction)}")
    write_atomically(path, "\n".join(lines) + "\n")


def write_class_scores(path, task, labels, logits):
    """Writes the confusion matrix and the scores of each class as JSON.

    Returns:
        The confusion matrix, int `[num_outputs, num_outputs]`: rows are labels,
        columns predictions. For a multi-label task `[num_outputs, 2, 2]`: for each
        label, whether a row has it and whether that was predicted.
    """
    predictions = task.predictions(logits)
    if task.kind == MULTI_LABEL:
        columns = zip(labels.T.astype(int), predictions.T.astype(int), strict=True)
        confusion = np.stack([metrics.confusion_matrix(*c, 2) for c in columns])
        scores = [metrics.per_class(matrix)[1] for matrix in confusion]
    else:
        confusion = metrics.confusion_matrix(labels, predictions, task.num_outputs)
        scores = metrics.per_class(confusion)
    report = {
        "labels": task.labels,
        "confusion": confusion.tolist(),
        "classes": dict(zip(task.labels, scores, strict=True)),
    }
    write_json(path, report)
    return confusion


def write_errors(path, task, table, logits):
    """Writes the rows that were predicted wrongly: row, label, prediction, texts.

    Hardly a number is predicted exactly, so for regression all rows are written, the
    largest absolute error first.
    """
    names = ["row", "label", "prediction", "text"]
    if table.text_pairs is not None:
        names.append("text_pair")
    lines = ["\t".join(names)]
    predictions = task.predictions(logits)
    for i in _worth_a_look(task, table.labels, predictions):
        texts = [table.texts[i]]
        if table.text_pairs is not None:
            texts.append(table.text_pairs[i])
        values = (table.labels[i], predictions[i])
        fields = [str(table.rows[i]), *map(task.label_text, values), *texts]
        lines.append("\t".join(" ".join(field.split()) for field in fields))
    write_atomically(path, "\n".join(lines) + "\n")


def _worth_a_look(task, labels, predictions):
    """Indices of the wrong rows; of all rows, the worst first, for regression."""
    if task.kind == REGRESSION:
        return np.argsort(-np.abs(labels - predictions), kind="stable")
    wrong = labels != predictions
    if task.kind == MULTI_LABEL:
        wrong = wrong.any(axis=1)  # [N, L] -> [N]
    return np.flatnonzero(wrong)


def _loss(task, labels, logits):
    """The training loss without dropout, in NumPy."""
    logits = logits.astype(np.float64)
    if task.kind == REGRESSION:
        return metrics.mean_squared_error(labels, logits[:, 0])
    if task.kind == MULTI_LABEL:
        return float(np.mean(np.logaddexp(0.0, logits) - logits * labels))
    chosen = np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return float(np.mean(np.logaddexp.reduce(logits, axis=1) - chosen))
