"""A model with its task and its tokenizer, as it is served."""

import tensorflow as tf


class Served:
    """The model of a `ServingModule`; its `Task` says what goes in and comes out.

    Args:
        model: the `PretrainedModel`; None where a file computes.
        task: the `Task` that answers.
        tokenizer: the model's, as returned by `albert_tf.load_tokenizer`.

    Attributes:
        variables: the Keras variables that are saved; no seeds, which are random.
        exit_rule: the `ExitRule` by which texts leave early; None: all are answered at
            full depth.
        longest: tokens of a row at most: the positions of the model or, where it has no
            table of them, the length that it is served for.
    """

    def __init__(self, model, task, tokenizer):
        self.model, self.task, self.tokenizer = model, task, tokenizer
        self.variables = [] if model is None else model.weights
        self.exit_rule = getattr(model, "exit_rule", None)
        self.longest = None

    @property
    def config(self):
        """The `ModelConfig` of the model."""
        return self.model.config

    @property
    def layout(self):
        """The `RowLayout` of the model's rows."""
        return self.task.row_layout(self.tokenizer)

    def compute(self, features):
        """Maps a dict of features to a dict of named numbers `[batch, …]`."""
        return self.task.compute(self.model, features, self.exit_rule)

    def feature_specs(self):
        """Returns a `tf.TensorSpec` of any size for each feature, by name."""
        shape = [None] * self.task.feature_axes
        names = self.task.features
        return {name: tf.TensorSpec(shape, tf.int32, name=name) for name in names}

    def text_specs(self, names=None):
        """Returns a `tf.TensorSpec` of any size for each of the text inputs, by name.

        Args:
            names: of the strings; by default the task's `text_inputs`.
        """
        lists = self.task.text_lists
        return {
            name: tf.TensorSpec([None] * (1 + (name in lists)), tf.string, name=name)
            for name in names or self.task.text_inputs
        }
