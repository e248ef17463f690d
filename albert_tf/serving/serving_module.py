"""The TensorFlow module to save: tokenizer, model and signatures."""

import functools

import keras
import tensorflow as tf

from albert_tf.serving.padding import compiled_for_one
from albert_tf.serving.padding import in_groups
from albert_tf.serving.padding import traced_once
from albert_tf.serving.requests import bounded
from albert_tf.serving.requests import example_features
from albert_tf.serving.requests import string_answers
from albert_tf.serving.requests import token_features

OPTIMIZATIONS = {"latency": compiled_for_one, "throughput": in_groups}
PROMPTED, PROMPT = "prompted", "prompt"
"""Name of the signature that takes a prompt, and of the input for it."""


class ServingModule(tf.Module):
    """A `Served` model behind three signatures or more.

    `serving_default` takes strings, `tokens` takes ids, `examples` takes serialized
    `tf.Example`s; all three return the same outputs, unless the task `reads_whole`
    strings. Batch size and length are dynamic. A model whose features have more axes
    than batch and tokens has no `examples` signature. A model with prompts also has
    `PROMPTED`, which takes strings and the prompt to put before each.

    Args:
        served: the `Served` model.
        text_features: a module that maps strings to the model's features.
        optimize_for: a key of `OPTIMIZATIONS`, or None.
        variables_dtype: the storage type of floating point variables; computation is
            in float32.
    """

    def __init__(
        self, served, text_features, optimize_for=None, variables_dtype="float32"
    ):
        super().__init__()
        task = served.task
        self.text_features = text_features
        self._served = served
        # Tracks only the variables, not the Keras model, so that the file contains
        # nothing but what serving needs.
        self.weights = [variable.value for variable in served.variables]
        self._compute = self.float32_numbers
        if variables_dtype != "float32":
            self.weights = [_stored(value, variables_dtype) for value in self.weights]
            self._compute = self._compute_from_stored
        if optimize_for is None:
            self._compute = traced_once(served, self._compute)
        else:
            self._compute = OPTIMIZATIONS[optimize_for](served, self._compute)
        if task.reads_whole is None:
            self._answer_strings = task.string_answers(text_features, self._compute)
        else:
            # A few windows at a time, since a text may have any number of windows.
            answer = task.string_answers(
                text_features, in_groups(served, self._compute)
            )
            self._answer_strings = bounded(answer, task.reads_whole, task.pads_answers)

    def compute(self, features):
        """Computes the numeric outputs; see `Served.compute`."""
        return self._compute(features)

    def float32_numbers(self, features):
        """Returns the model's numeric outputs in float32, whatever its dtype."""
        return {
            name: tf.cast(values, tf.float32) if values.dtype.is_floating else values
            for name, values in self._served.compute(features).items()
        }

    def _compute_from_stored(self, features):
        variables = self._served.variables
        values = [
            tf.cast(weight, variable.dtype)
            for weight, variable in zip(self.weights, variables, strict=True)
        ]
        mapping = list(zip(variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            return self.float32_numbers(features)

    def text_signature(self, names=None):
        """Makes the concrete function that takes strings.

        Args:
            names: the inputs; by default the task's `text_inputs`.
        """
        strings = self._served.text_specs(names)
        return _concrete(self._from_strings, **strings)

    def count_tokens(self, columns):
        """Counts the tokens that the model reads of columns of strings."""
        return self._counted(**{n: tf.constant(v) for n, v in columns.items()})

    @functools.cached_property  # a plain attribute would be saved with the module
    def _counted(self):
        def count(**strings):
            features = self.text_features(**strings)
            return tf.math.count_nonzero(features.get("input_mask", 0))

        return tf.function(count, autograph=False, reduce_retracing=True)

    def signatures(self):
        """Makes concrete functions by signature name."""
        tokens = self._served.feature_specs()
        signatures = {
            "serving_default": self.text_signature(),
            "tokens": _concrete(self._from_tokens, **tokens),
        }
        if self._served.task.prompts:
            names = (*self._served.task.text_inputs, PROMPT)
            signatures[PROMPTED] = self.text_signature(names)
        # A feature of an Example has one axis: the tokens of a row.
        if self._served.task.feature_axes == 2:
            serialized = tf.TensorSpec([None], tf.string, name="examples")
            signatures["examples"] = _concrete(self._from_examples, serialized)
        return signatures

    def _outputs(self, features):
        return self._served.task.answers(self._compute(features), features)

    def _from_strings(self, **strings):
        return string_answers(strings, self._answer_strings)

    def _from_tokens(self, **features):
        return self._outputs(token_features(features, self._served))

    def _from_examples(self, examples):
        return self._outputs(example_features(examples, self._served))


def _concrete(function, *specs, **named_specs):
    function = tf.function(function, autograph=False)
    return function.get_concrete_function(*specs, **named_specs)


def _stored(value, dtype):
    if not value.dtype.is_floating:
        return value
    return tf.Variable(tf.cast(value, dtype), trainable=False)
