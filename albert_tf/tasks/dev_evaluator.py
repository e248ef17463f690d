"""Scores the dev set while a model is fine-tuned, and keeps the best checkpoint."""

import math
import os

from albert_tf.checkpoints.model_directory import TRAINING_INFO_FILE
from albert_tf.config import read_json_object
from albert_tf.tasks.results import score


class DevEvaluator:
    """Scores a model on dev sets with the task's own metrics.

    It takes the place of the engine's evaluator, whose averages cannot express F1 or a
    correlation.

    Args:
        task: the `TextTask`.
        logits: a `LogitsPredictor` of the model in training.
        current_step: function that returns the number of optimizer steps done.
        save_best: called with (step, scores) whenever the first metric of the task on
            the first dev set is higher than ever before; not before the first step.
        model_dir: where `save_best` saves, to know what an interrupted run had reached.
    """

    def __init__(self, task, logits, current_step, save_best, model_dir):
        self.task = task
        self.logits = logits
        self.current_step = current_step
        self.save_best = save_best
        self.model_dir = model_dir

    def evaluate(self, dev_sets):
        """Scores every dev set: `{metric: value}`, with a prefix from the second on.

        Args:
            dev_sets: labelled `TokenizedExamples` by name, the deciding one first.
        """
        scores = {}
        for place, (name, examples) in enumerate(dev_sets.items()):
            prefix = f"{name}_" if place else ""
            found = score(self.task, examples.labels, self.logits(examples))
            scores |= {prefix + metric: value for metric, value in found.items()}
        step, value = self.current_step(), scores[self.task.metrics[0]]
        if step > 0 and self._is_best(value):
            self.save_best(step, scores)
        return scores

    def _is_best(self, value):
        path = os.path.join(self.model_dir, TRAINING_INFO_FILE)
        if not os.path.exists(path):
            return True
        best = read_json_object(path)["dev"][self.task.metrics[0]]
        return value > best or (math.isnan(best) and not math.isnan(value))
