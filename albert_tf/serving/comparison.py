"""Measures the quality lost in a conversion, on a labelled file."""

import dataclasses

import numpy as np

from albert_tf.errors import UserError
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.prediction import OutputsPredictor
from albert_tf.tasks.ranking.task import Ranking
from albert_tf.tasks.task import Prepared

_BATCH_SIZE = 32


class Comparison:
    """Compares a converted model with the original.

    Args:
        examples: labelled `Examples` of the task.
        served: the `Served` original, of a `Task` that scores.
        max_seq_length: maximum number of tokens in a row.

    Raises:
        UserError: when called: an output is NaN.
    """

    def __init__(self, examples, served, max_seq_length):
        self._task, self._length = served.task, max_seq_length
        task = served.task
        tokens = task.tokenize(examples, served.tokenizer, max_seq_length)
        tokens = dataclasses.replace(tokens, labels=task.targets(examples, tokens))
        self._prepared = Prepared(examples, tokens)

    def __call__(self, original, name, converted):
        """Prints the metrics of both models and the largest changes.

        Args:
            original: what `numbers` returns of the original model.
            name: the name of the converted model.
            converted: function of the converted model that maps a dict of feature
                tensors to the result of `Task.numbers`.

        Returns:
            A dict for JSON: `eval`, both values by metric; `largest_change` by array.
        """
        numbers = {"original": original, name: self.numbers(converted)}
        changes = {
            key: float(np.abs(array - numbers[name][key]).max())
            for key, array in numbers["original"].items()
        }
        if not all(map(np.isfinite, changes.values())):
            raise UserError(
                f"The original or the {name} model answers what is not a number; ask "
                "the original, with albert_tf.Predictor, which of the two it is."
            )
        scores = {key: self.score(arrays) for key, arrays in numbers.items()}
        by_metric = {
            metric: {key: float(values[metric]) for key, values in scores.items()}
            for metric in self._task.metrics
        }
        for metric, values in by_metric.items():
            shown = ", ".join(f"{key} {value:.4f}" for key, value in values.items())
            print(f"{metric}: {shown}, drop {values['original'] - values[name]:.4f}")
        for key, change in changes.items():
            print(f"largest change of {key}: {change:.4f}")
        return {"eval": by_metric, "largest_change": changes}

    def numbers(self, compute):
        """Returns the numbers `[rows, …]` by name that a function of features gives."""
        predict = OutputsPredictor(
            lambda features, training: compute(features),
            _BATCH_SIZE,
            self._length,
            self._task.min_tokens,
        )
        return predict(self._prepared.tokens)

    def score(self, numbers):
        """Computes the task's scores from numbers: `{metric: float}`."""
        outputs = self._task.interpret(self._prepared, self._task.outputs(numbers))
        return self._task.score(self._prepared, outputs)


def check_comparable(model_dir, task, columns):
    """Refuses a task that is not of one row per text, or a table that does not fit."""
    if task.kind is None:
        raise UserError(
            "--eval_file needs one fine-tuned model, but this export is "
            f"{task.serves}; leave --eval_file out."
        )
    if not isinstance(task, TextTask) or isinstance(task, Ranking):
        raise UserError(
            f"--eval_file compares models that take texts from a table, but "
            f"{model_dir} is for {task.serves}; leave --eval_file out."
        )
    if task.in_windows:
        raise UserError(
            f"--eval_file compares models that read one row of each text, but "
            f"{model_dir} reads texts in windows; leave --eval_file out."
        )
    takes_pairs = len(task.text_inputs) > 1
    if takes_pairs != (columns.text_pair is not None):
        raise UserError(
            f"{model_dir} takes {'pairs of' if takes_pairs else 'single'} "
            f"texts; {'give' if takes_pairs else 'leave out'} --text_pair_column."
        )
