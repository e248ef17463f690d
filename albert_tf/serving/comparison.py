"""Quality lost by a conversion, on a labelled file."""

import dataclasses

import numpy as np

from albert_tf.errors import UserError
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.task import Prepared

_BATCH_SIZE = 32


class Comparison:
    """Compares a converted model with the original.

    Args:
        eval_file: a labelled table.
        columns: its `Columns`.
        served: the `Served` original, of a `Task` that has metrics.
        max_seq_length: the longest length.

    Raises:
        UserError: as `read_table`; when called: an answer is no number.
    """

    def __init__(self, eval_file, columns, served, max_seq_length):
        self._task, self._length = served.task, max_seq_length
        task = served.task
        examples = task.read(eval_file, columns)
        tokens = task.tokenize(examples, served.tokenizer, max_seq_length)
        tokens = dataclasses.replace(tokens, labels=task.targets(examples, tokens))
        order = np.argsort(tokens.lengths, kind="stable")  # batches of similar length
        self._prepared = Prepared(examples, tokens.take(order))

    def __call__(self, original, name, converted):
        """Prints the metrics of both models and the largest changes.

        Args:
            original: the model, a function from a dict of features to the result of
                `Task.numbers`.
            name: of the converted model.
            converted: the same function of this model.

        Returns:
            For JSON: `eval`, by metric the values of both; `largest_change` by array.
        """
        models = {"original": original, name: converted}
        found, changes = {model: [] for model in models}, {}
        dataset = evaluation_dataset(self._prepared.tokens, _BATCH_SIZE, self._length)
        for batch in dataset:
            features = {feature: batch[feature] for feature in FEATURES}
            numbers = {key: model(features) for key, model in models.items()}
            for key, arrays in numbers.items():
                found[key].append(self._task.outputs(arrays))
            for key, change in _changes(*numbers.values()).items():
                # Of NaN and a number, NaN.
                changes[key] = float(np.maximum(change, changes.get(key, 0.0)))
        if not all(map(np.isfinite, changes.values())):
            raise UserError(
                f"The original or the {name} model answers what is not a number; ask "
                "the original, with albert_tf.Predictor, which of the two it is."
            )
        scores = {key: self._score(parts) for key, parts in found.items()}
        by_metric = {
            metric: {key: float(values[metric]) for key, values in scores.items()}
            for metric in self._task.metrics
        }
        _show(by_metric, changes)
        return {"eval": by_metric, "largest_change": changes}

    def _score(self, parts):
        outputs = self._task.interpret(self._prepared, np.concatenate(parts))
        return self._task.score(self._prepared, outputs)


def check_comparable(model_dir, task, columns):
    """Refuses an export without a metric, or a table that does not fit it."""
    if task.kind is None:
        raise UserError(
            "--eval_file needs one fine-tuned model, but this export is "
            f"{task.serves}; leave --eval_file out."
        )
    if not {"text", "text_pair"}.issuperset(task.text_inputs):
        raise UserError(
            f"--eval_file compares models that take texts from a table, but "
            f"{model_dir} is for {task.serves}; leave --eval_file out."
        )
    takes_pairs = len(task.text_inputs) > 1
    if takes_pairs != (columns.text_pair is not None):
        raise UserError(
            f"{model_dir} takes {'pairs of' if takes_pairs else 'single'} "
            f"texts; {'give' if takes_pairs else 'leave out'} --text_pair_column."
        )


def _changes(original, converted):
    """Computes how far each array moves at most, by its name."""
    return {
        key: np.abs(np.asarray(array) - np.asarray(converted[key])).max()
        for key, array in original.items()
    }


def _show(scores, changes):
    for metric, values in scores.items():
        original, converted = values.values()
        shown = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
        print(f"{metric}: {shown}, drop {original - converted:.4f}")
    for name, change in changes.items():
        print(f"largest change of {name}: {change:.4f}")
