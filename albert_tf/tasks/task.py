"""The interface of a task to training, evaluation and serving."""

import dataclasses
import typing

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.served_answers import EXIT_LAYER
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tokenization.in_graph.features import TextFeatures


class Prepared(typing.NamedTuple):
    """Tokenized examples.

    Attributes:
        examples: the `Examples`.
        tokens: the result of `Task.tokenize`, with labels.
    """

    examples: typing.Any
    tokens: typing.Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A task, from examples to the answers of the served model.

    A class that sets `kind` registers itself and can be trained; the folder of a
    fine-tuned model stores `to_dict()`, from which `albert_tf.tasks.registry` restores
    the task. A class without `kind` only serves (`albert_tf.tasks.pretrained`). The
    base class returns the served outputs unchanged.

    Attributes:
        name: name of the task, as given by `--task_name`.
        metrics: names of scores; the first one picks the best checkpoint by default.
        early_exit: the `EarlyExitFlags` of a model trained for early exit, or None;
            saved with the model.
    """

    name: str
    metrics: tuple = ()
    early_exit: typing.Any = None

    kinds: typing.ClassVar[dict] = {}
    """The registered classes by their `kind`."""
    kind: typing.ClassVar[str | None] = None
    """Name of the class in `kinds`; None for a task that only serves."""
    purpose: typing.ClassVar[str]
    """The `purpose` of the models that can be fine-tuned."""
    default_metrics: typing.ClassVar[tuple] = ()
    """The `metrics` of every task of the class; () if they differ."""
    also_scored: typing.ClassVar[tuple] = ()
    """Names of what `score` always returns besides the `metrics`."""
    tokens_class: typing.ClassVar[type] = TokenizedExamples
    """Class of `tokenize`'s result; its fields are arrays, which can be cached."""
    choices: typing.ClassVar[dict] = {}
    """The texts that fields may have, by name."""
    row_settings: typing.ClassVar[tuple] = ()
    """Names of fields that, besides tokenizer and length, determine the rows.

    A model is applied with the values of its training."""
    by_token: typing.ClassVar[bool] = False
    """True if the model has one output per token.

    All rows are then padded on the right, and a teacher must read the same tokens."""
    min_tokens: typing.ClassVar[int] = 1
    """The fewest tokens that the model takes; shorter rows are padded."""

    serves: typing.ClassVar[str | None] = None
    """Name of the served answer; a value of `albert-tf export --task`."""
    text_inputs: typing.ClassVar[tuple] = ("text",)
    """Names of the served model's string inputs."""
    text_lists: typing.ClassVar[tuple] = ()
    """Text inputs whose rows are lists: string `[batch, any]`, padded with ""."""
    optional_inputs: typing.ClassVar[tuple] = ()
    """Names of additional string inputs of a model in memory."""
    prompts: typing.ClassVar[dict | None] = None
    """Prompts by name; None if the model takes no prompts."""
    head_tells_rows: typing.ClassVar[bool] = False
    """True if the head alone, without training info, determines the rows."""
    example: typing.ClassVar[typing.Any] = "it is a very good one ."
    """An example request: one string, or a dict of strings by name."""
    features: typing.ClassVar[tuple] = FEATURES
    """Names of the model's features, int32 `[batch, …, tokens]` each."""
    feature_axes: typing.ClassVar[int] = 2
    """The number of axes of each feature; see `PretrainedModel`."""
    along: typing.ClassVar[dict] = {}
    """Maps numeric outputs along a feature's token axis to that feature."""
    reads_whole: typing.ClassVar[str | None] = None
    """Name of the text input that is read whole, in windows, whatever its length."""
    pads_answers: typing.ClassVar[bool] = False
    """True if each row has as many answers as the longest text."""

    def __init_subclass__(cls):
        if vars(cls).get("kind"):
            Task.kinds[cls.kind] = cls

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int and type(value) is not int:
                raise ValueError(f"{field.name} is {value!r}, expected an integer")
            if field.type is float and type(value) not in (int, float):
                raise ValueError(f"{field.name} is {value!r}, expected a number")
            if value not in self.choices.get(field.name, (value,)):
                known = ", ".join(self.choices[field.name])
                raise ValueError(f"{field.name} is {value!r}, expected one of {known}")
        metrics = self.default_metrics or self.metrics
        object.__setattr__(self, "metrics", metrics)

    # From examples to features.

    def tokenize(self, examples, tokenizer, max_seq_length):
        """Tokenizes examples to `tokens_class`, without labels, for the cache."""
        raise NotImplementedError

    def row_layout(self, tokenizer):
        """Returns the `RowLayout` of the rows that `tokenize` makes."""
        return tokenizer.layout.padded_after if self.by_token else tokenizer.layout

    def targets(self, examples, tokens):
        """Returns the labels for the objective, one row per row of `tokens`."""
        return examples.labels

    # The model.

    @property
    def model_class(self):
        """The ALBERT model class for the task."""
        return registry.model_for(self.purpose)

    def model_classes(self):
        """Returns the model classes for the task by `ModelFamily`."""
        found = {}
        for model in registry.models():
            # Of several models of a family, the first is the package's own.
            if model.purpose == self.purpose:
                found.setdefault(model.family, model)
        return found

    @classmethod
    def told(cls, head):
        """Returns the task fields that a head determines, or None.

        Args:
            head: constructor arguments of a model with the `purpose`; see `head.json`.
        """
        return {"name": cls.kind}

    def model_arguments(self):
        """Returns the model's constructor arguments that the task determines."""
        return {} if self.early_exit is None else self.early_exit.exit_arguments()

    def objective(self):
        """Makes the engine's `Objective`."""
        raise NotImplementedError

    # Distillation from a teacher to a student.

    def distilled(self, outputs):
        """Returns the part of a model's outputs that a student imitates, float32.

        Its shape is `[batch, …]`, or `[batch, tokens, …]` if the task is `by_token`.
        """
        return tf.cast(outputs, tf.float32)

    def as_wide(self, logits, config):
        """Resizes a teacher's logits to the width of a student's config."""
        return logits

    def distances(self, logits, teacher, temperature):
        """Computes the distance to the teacher, in the shape of the labels' loss.

        Args:
            logits, teacher: the student's and the teacher's result of `distilled`.
            temperature: divisor of the logits.
        """
        raise NotImplementedError

    # Scores and files. `outputs` is the model's result for all rows: an array
    # `[rows, ...]`, or a dict of arrays.

    def interpret(self, prepared, outputs):
        """Converts `outputs` once to the form that scores and files need."""
        return outputs

    def score(self, prepared, interpreted):
        """Computes `{metric: float}` with at least `metrics`."""
        raise NotImplementedError

    def write_scored(self, output_dir, name, prepared, interpreted):
        """Writes files that help to understand the scores on the examples `name`."""
        return

    def write_predicted(self, output_dir, prefix, prepared, interpreted):
        """Writes predictions to files.

        Args:
            output_dir: a `pathlib.Path`.
            prefix: the prefix of file names.
            prepared: the `Prepared` examples.
            interpreted: the result of `interpret`.
        """
        raise NotImplementedError

    # Serving: from strings or features to answers, in a graph and in Python.

    def text_features(self, tokenizer, max_seq_length):
        """Makes a module that maps strings to features of limited length."""
        return TextFeatures(tokenizer, max_seq_length, self.row_layout(tokenizer))

    def compute(self, model, features, exit_rule=None):
        """Maps a dict of features to a dict of numeric outputs `[batch, …]`.

        Args:
            model: the `PretrainedModel`.
            features: int32 `[batch, …, tokens]` by name.
            exit_rule: the `ExitRule` for early exit, which adds the output
                `EXIT_LAYER`; or None.
        """
        if exit_rule is None:
            return self.numbers(model(features, training=False))
        outputs, layers = model.leave_early(features, exit_rule)
        return {**self.numbers(outputs), EXIT_LAYER: layers}

    def numbers(self, outputs):
        """Maps the model's outputs to a dict of numeric outputs `[batch, …]`."""
        raise NotImplementedError

    def answers(self, numbers, features):
        """Maps the numeric outputs and the features to the served outputs."""
        return numbers

    def string_answers(self, text_features, compute):
        """Returns a function that maps strings to the served outputs.

        Args:
            text_features: the result of the method `text_features`.
            compute: function that maps features to numeric outputs.
        """

        def answer(**strings):
            features = text_features(**strings)
            return self.answers(compute(features), features)

        return answer

    def meaning(self):
        """Describes each served output in one line, for the generated documentation."""
        raise NotImplementedError

    def answer(self, outputs):
        """Converts served outputs to a `Predictor`'s answer, a readable dict.

        Args:
            outputs: the served outputs of one input by name: str, float and int, arrays
                of numbers, and nested lists of str.
        """
        return outputs

    def outputs(self, numbers):
        """Recovers the model's outputs, the input of `interpret`, from `numbers`."""
        raise NotImplementedError

    def as_applied(self, trained):
        """Returns the task with the settings that a model's own `Task` has chosen."""
        return self

    def as_trained(self, scores):
        """Returns the task with settings chosen by a model's dev scores in training."""
        return self

    def to_dict(self):
        """Returns the JSON form that `registry.task_of` reads."""
        fields = {"kind": self.kind, **dataclasses.asdict(self)}
        del fields["early_exit"]
        return fields

    def check_fits(self, directory, asked):
        """Checks that this task's model fits the files of the task `asked`.

        Args:
            directory: the model's, for messages.
            asked: the `Task` whose files are to be scored or predicted.

        Raises:
            UserError: the two differ in inputs or outputs.
        """
        if self.kind != asked.kind:
            raise UserError(
                f"{directory} was fine-tuned for {self.kind}, but the task "
                f"{asked.name} is {asked.kind}; name a model of that task."
            )
        own, expected = (getattr(task, "labels", ()) for task in (self, asked))
        if own != expected:
            raise UserError(
                f"{directory} predicts {', '.join(own)}, but the task {asked.name} has "
                f"{', '.join(expected)}; name a model of that task."
            )
