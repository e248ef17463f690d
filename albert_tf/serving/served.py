"""A served model, with its task and tokenizer."""

import tensorflow as tf


class Served:
    """The model of a `ServingModule`; its `Task` says what goes in and comes out.

    Args:
        model: the `PretrainedModel`; None if a file computes the outputs.
        task: the `Task`, which defines inputs and outputs.
        tokenizer: the model's, as returned by `albert_tf.load_tokenizer`.

    Attributes:
        variables: the Keras variables to save, without random seeds.
        exit_rule: the early-exit `ExitRule`; None for full depth.
        longest: maximum number of tokens in a row: the model's positions or, without a
            position table, the length that it is served for.
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
        """Maps a dict of features to a dict of numeric outputs `[batch, …]`."""
        return self.task.compute(self.model, features, self.exit_rule)

    def feature_specs(self):
        """Returns a `tf.TensorSpec` of dynamic shape for each feature, by name."""
        shape = [None] * self.task.feature_axes
        names = self.task.features
        return {name: tf.TensorSpec(shape, tf.int32, name=name) for name in names}

    def text_specs(self, names=None):
        """Returns a `tf.TensorSpec` of dynamic shape for each text input, by name.

        Args:
            names: the inputs; by default the task's `text_inputs`.
        """
        lists = self.task.text_lists
        return {
            name: tf.TensorSpec([None] * (1 + (name in lists)), tf.string, name=name)
            for name in names or self.task.text_inputs
        }
