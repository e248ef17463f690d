"""The head of a served model: a family of tasks declares its serving by it."""

import numpy as np
import tensorflow as tf

from albert_tf.row_layout import FEATURES
from albert_tf.tokenization.in_graph.features import TextFeatures

EXIT_LAYER = "exit_layer"
"""Name of the served number of layers that an answer took, int32 `[batch]`."""


class Head:
    """A model with its inputs and its answers: in a graph, and from Python.

    A subclass defines its differences from a model that maps the features of one text
    to the served outputs.

    Args:
        model: the `PretrainedModel`; None where only `answer` is asked.
        task: the `Task` that the model was fine-tuned for, or None.
        tokenizer: the model's, as returned by `albert_tf.load_tokenizer`.

    Attributes:
        variables: the Keras variables that are saved; no seeds, which are random.
        exit_rule: the `ExitRule` by which texts leave early; None: all are answered at
            full depth. With one, the numbers have `EXIT_LAYER`, too.
        longest: tokens of a row at most: the positions of the model or, where it has no
            table of them, the length that it is served for.
    """

    name = None
    """Name of the served model's answer; a value of the export's `--task`."""
    text_inputs = ("text",)
    """Names of the strings that the model takes."""
    text_lists = ()
    """Text inputs whose rows are lists: string `[batch, any]`, "" for no item."""
    optional_inputs = ()
    """Names of strings that a module in memory takes beside them."""
    example = "it is a very good one ."
    """One string, or a dict of them by name."""
    features = FEATURES
    """Names of the model's features, int32 `[batch, …, tokens]` each."""
    feature_axes = 2
    """The number of axes of each of them; see `PretrainedModel`."""
    along = {}
    """For each of the numbers whose second axis is a feature's, its name."""
    reads_whole = None
    """Name of the strings that are read whole, in windows, however long they are."""
    by_token = False
    """True if every token is read: rows are padded after them, whatever the model."""
    pads_answers = False
    """True if each row has as many answers as the longest text."""

    def __init__(self, model, task=None, tokenizer=None):
        self.model, self.task, self.tokenizer = model, task, tokenizer
        self.variables = [] if model is None else model.weights
        self.longest = None
        self.exit_rule = getattr(model, "exit_rule", None)

    @property
    def config(self):
        """The configuration of the model, such as an `AlbertConfig`."""
        return self.model.config

    @property
    def layout(self):
        """The `RowLayout` of the model's rows."""
        layout = self.tokenizer.layout
        return layout.padded_after if self.by_token else layout

    # In a graph.

    def compute(self, features):
        """Maps a dict of features to a dict of named numbers `[batch, …]`."""
        if self.exit_rule is None:
            return self.numbers(self.model(features, training=False))
        outputs, layers = self.model.leave_early(features, self.exit_rule)
        return {**self.numbers(outputs), EXIT_LAYER: layers}

    def numbers(self, outputs):
        """Maps the model's outputs to a dict of named numbers `[batch, …]`."""
        raise NotImplementedError

    def answers(self, numbers, features):
        """Maps the numbers and the features to the served outputs."""
        return numbers

    def text_features(self, max_seq_length):
        """Makes a module that maps strings to features of so many tokens at most."""
        return TextFeatures(self.tokenizer, max_seq_length)

    def string_answers(self, text_features, compute):
        """Returns a function that maps strings to the served outputs.

        Args:
            text_features: the module that `text_features` made.
            compute: a function like the method.
        """

        def answer(**strings):
            features = text_features(**strings)
            return self.answers(compute(features), features)

        return answer

    def feature_specs(self):
        """Returns a `tf.TensorSpec` of any size for each feature, by name."""
        shape = [None] * self.feature_axes
        return {n: tf.TensorSpec(shape, tf.int32, name=n) for n in self.features}

    def text_specs(self, names=None):
        """Returns a `tf.TensorSpec` of any size for each of the text inputs, by name.

        Args:
            names: of the strings; by default `text_inputs`.
        """
        return {
            name: tf.TensorSpec(
                [None, None] if name in self.text_lists else [None],
                tf.string,
                name=name,
            )
            for name in names or self.text_inputs
        }

    # From Python.

    def meaning(self):
        """Describes each served output in a line, for the generated documentation."""
        raise NotImplementedError

    def answer(self, outputs):
        """Returns a `Predictor`'s answer for one input.

        Args:
            outputs: the served outputs of it by name: str, float and int, arrays of
                numbers, and nested lists of str.

        Returns:
            A dict, in the form that is easiest to read and to use.
        """
        return outputs

    def outputs(self, numbers):
        """Returns an object that the task scores as the outputs behind `numbers`."""
        raise NotImplementedError


def at_least(features, count, axis=-1):
    """Pads a dict of tensors with zeros to `count` items along an axis."""

    def padded(values):
        missing = tf.maximum(count - tf.shape(values)[axis], 0)
        padding = [[0, 0]] * values.shape.rank
        padding[axis] = [0, missing]
        return tf.pad(values, padding)

    return {name: padded(values) for name, values in features.items()}


def require(condition, message):
    """Makes an operation that fails with `message` where a bool `[]` is false."""
    return tf.debugging.Assert(condition, [message])


def log_shares(probabilities):
    """Computes logits of probabilities, up to a constant; one may have become 0."""
    tiny = np.finfo(np.float32).tiny
    return np.log(np.maximum(np.asarray(probabilities), tiny))


def rows_of(outputs, names):
    """Lists a served row's items, dicts of Python's numbers and strings.

    Args:
        outputs: the served outputs of one input, arrays or lists of the same length.
        names: by key of the dicts, the name of the output.
    """
    columns = [np.array(outputs[name], object).tolist() for name in names.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
