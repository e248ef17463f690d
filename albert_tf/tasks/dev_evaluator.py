"""Scores the dev set while a model is fine-tuned, and keeps the best checkpoint."""

import math
import os

from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.files import read_json_object
from albert_tf.tasks.results import score


class OutOfPatience(Exception):
    """Raised to leave training: the last evaluations brought nothing better."""


class DevEvaluator:
    """Scores a model on dev sets with the task's own metrics.

    It takes the place of the engine's evaluator, whose averages cannot express F1 or a
    correlation.

    Args:
        task: the `TextTask`.
        logits: a `LogitsPredictor` of the model in training.
        trainer: the `Trainer`, for its step and its earlier evaluations.
        save_best: called with (step, scores) whenever the first metric of the task on
            the first dev set is higher than ever before.
        model_dir: where `save_best` saves, to know what an interrupted run had reached.
        patience: evaluations without anything better after which training stops;
            0 for never.
    """

    def __init__(self, task, logits, trainer, save_best, model_dir, patience=0):
        self.task = task
        self.logits = logits
        self.trainer = trainer
        self.save_best = save_best
        self.model_dir = model_dir
        self.patience = patience

    def evaluate(self, dev_sets):
        """Scores every dev set: `{metric: value}`, with a prefix from the second on.

        Args:
            dev_sets: labelled `TokenizedExamples` by name, the deciding one first.

        Raises:
            OutOfPatience: nothing better for `patience` evaluations.
        """
        scores = {}
        for place, (name, examples) in enumerate(dev_sets.items()):
            prefix = f"{name}_" if place else ""
            found = score(self.task, examples.labels, self.logits(examples))
            scores |= {prefix + metric: value for metric, value in found.items()}
        value = scores[self.task.metrics[0]]
        if self._is_best(value):
            self.save_best(self.trainer.step, scores)
        elif self.patience:
            self._check_patience(value)
        return scores

    def _check_patience(self, value):
        name = self.task.metrics[0]
        values = [entry[name] for entry in self.trainer.history] + [value]
        values = [-math.inf if math.isnan(v) else v for v in values]
        since_best = len(values) - 1 - values.index(max(values))
        if since_best >= self.patience:
            raise OutOfPatience(
                f"no better {name} in {since_best} evaluations, best {max(values):.4f}"
            )

    def _is_best(self, value):
        path = os.path.join(self.model_dir, TRAINING_INFO_FILE)
        if not os.path.exists(path):
            return True
        best = read_json_object(path)["dev"][self.task.metrics[0]]
        return value > best or (math.isnan(best) and not math.isnan(value))
