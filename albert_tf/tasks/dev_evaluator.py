"""Scores the dev sets while a model is fine-tuned."""

from albert_tf.tasks.results import score


class DevEvaluator:
    """Scores a model on dev sets with the task's own metrics.

    It takes the place of the engine's evaluator, whose averages cannot express F1 or a
    correlation.

    Args:
        task: the `TextTask`.
        logits: a `LogitsPredictor` of the model in training.
    """

    def __init__(self, task, logits):
        self.task = task
        self.logits = logits

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
        return scores
