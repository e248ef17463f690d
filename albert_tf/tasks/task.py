"""The interface of a task: all that training, evaluation and serving know of it."""

import dataclasses
import typing

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.row_layout import FEATURES
from albert_tf.tasks.serving import EXIT_LAYER
from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tokenization.in_graph.features import TextFeatures


class Prepared(typing.NamedTuple):
    """Examples that were tokenized.

    Attributes:
        examples: the `Examples` that were read.
        tokens: the result of `Task.tokenize`, with its labels.
    """

    examples: typing.Any
    tokens: typing.Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A task, from examples to the answers of the served model.

    A class that sets `kind` registers itself, can be trained, and is found again
    through `albert_tf.tasks.registry`: a fine-tuned model's folder holds `to_dict()`.
    A class without `kind` only serves (`albert_tf.tasks.pretrained`). The base class
    itself gives the served outputs as they are.

    Attributes:
        name: name of the task, as given by `--task_name`.
        metrics: names of scores; the first one, higher is better, picks the best
            checkpoint.
        early_exit: the `EarlyExitFlags` of a model that is trained to answer before the
            last layer, or None; the model keeps them.
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
    """The `metrics` of every task of the class; () where they differ."""
    tokens_class: typing.ClassVar[type] = TokenizedExamples
    """Class of `tokenize`'s result; its fields are arrays, which can be cached."""
    choices: typing.ClassVar[dict] = {}
    """The texts that fields may have, by name."""
    row_settings: typing.ClassVar[tuple] = ()
    """Names of fields that decide, beside tokenizer and length, how examples become
    rows; a model is applied with the values of its training."""
    by_token: typing.ClassVar[bool] = False
    """True if the model's outputs are of tokens: then all rows are padded after their
    tokens, and a teacher reads the same ones."""
    min_tokens: typing.ClassVar[int] = 1
    """The fewest tokens that the model takes; shorter rows are padded."""

    serves: typing.ClassVar[str | None] = None
    """Name of the served answer; a value of the export's `--task`."""
    text_inputs: typing.ClassVar[tuple] = ("text",)
    """Names of the strings that the served model takes."""
    text_lists: typing.ClassVar[tuple] = ()
    """Text inputs whose rows are lists: string `[batch, any]`, "" for no item."""
    optional_inputs: typing.ClassVar[tuple] = ()
    """Names of strings that a model in memory takes beside them."""
    example: typing.ClassVar[typing.Any] = "it is a very good one ."
    """An example request: one string, or a dict of strings by name."""
    features: typing.ClassVar[tuple] = FEATURES
    """Names of the model's features, int32 `[batch, …, tokens]` each."""
    feature_axes: typing.ClassVar[int] = 2
    """The number of axes of each feature; see `PretrainedModel`."""
    along: typing.ClassVar[dict] = {}
    """Maps names of numbers whose second axis is a feature's to the feature."""
    reads_whole: typing.ClassVar[str | None] = None
    """Name of the strings that are read whole, in windows, however long they are."""
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
        """Makes the `tokens_class` of the examples, without labels; it is cached."""
        raise NotImplementedError

    def row_layout(self, tokenizer):
        """Returns the `RowLayout` of the rows of `tokenize`."""
        return tokenizer.layout.padded_after if self.by_token else tokenizer.layout

    def targets(self, examples, tokens):
        """Returns the labels of the objective, a row for each row of `tokens`."""
        return examples.labels

    # The model.

    @property
    def model_class(self):
        """ALBERT's model for the task."""
        return registry.model_for(self.purpose)

    def model_classes(self):
        """Returns the models for the task by their `ModelFamily`."""
        return {f: registry.model_for(self.purpose, f) for f in registry.families()}

    @classmethod
    def told(cls, head):
        """Returns the fields of the task that a head tells; None if it tells none.

        Args:
            head: constructor arguments of a model with the `purpose`; see `head.json`.
        """
        return {"name": cls.kind}

    def model_arguments(self):
        """Returns arguments of models that the task decides."""
        return {} if self.early_exit is None else self.early_exit.exit_arguments()

    def objective(self):
        """Makes the engine's `Objective`."""
        raise NotImplementedError

    # Distillation: what a student learns from a teacher.

    def distilled(self, outputs):
        """Returns the part of a model's outputs that a student imitates, float32.

        Its shape is `[batch, …]`, or `[batch, tokens, …]` where the task is `by_token`.
        """
        return tf.cast(outputs, tf.float32)

    def as_wide(self, logits, config):
        """Changes the width of a teacher's logits to that of a student's config."""
        return logits

    def distances(self, logits, teacher, temperature):
        """Computes the distance to the teacher for each weight of the labels' loss.

        Args:
            logits, teacher: the student's and the teacher's result of `distilled`.
            temperature: the number by which logits are divided.
        """
        raise NotImplementedError

    # Scores and files. `outputs` is what the model returns for all rows: an array
    # `[rows, ...]`, or a dict of arrays.

    def interpret(self, prepared, outputs):
        """Computes from `outputs`, once, what scores and files are made of."""
        return outputs

    def score(self, prepared, interpreted):
        """Returns `{metric: float}` with at least `metrics`."""
        raise NotImplementedError

    def write_scored(self, output_dir, name, prepared, interpreted):
        """Writes files that help to understand the scores of the examples `name`."""
        return

    def write_predicted(
        self, output_dir, prefix, prepared, interpreted, submission=None
    ):
        """Writes the predictions of examples to predict.

        Args:
            output_dir: a `pathlib.Path`.
            prefix: the beginning of the names of files.
            prepared: the `Prepared` examples.
            interpreted: the result of `interpret`.
            submission: name of a benchmark's own file, or None.
        """
        raise NotImplementedError

    # Serving: from strings or features to answers, in a graph and in Python.

    def text_features(self, tokenizer, max_seq_length):
        """Makes a module that maps strings to features of so many tokens at most."""
        return TextFeatures(tokenizer, max_seq_length, self.row_layout(tokenizer))

    def compute(self, model, features, exit_rule=None):
        """Maps a dict of features to a dict of named numbers `[batch, …]`.

        Args:
            model: the `PretrainedModel`.
            features: int32 `[batch, …, tokens]` by name.
            exit_rule: the `ExitRule` by which rows leave early, whose numbers then have
                `EXIT_LAYER`, too; or None.
        """
        if exit_rule is None:
            return self.numbers(model(features, training=False))
        outputs, layers = model.leave_early(features, exit_rule)
        return {**self.numbers(outputs), EXIT_LAYER: layers}

    def numbers(self, outputs):
        """Maps the model's outputs to a dict of named numbers `[batch, …]`."""
        raise NotImplementedError

    def answers(self, numbers, features):
        """Maps the numbers and the features to the served outputs."""
        return numbers

    def string_answers(self, text_features, compute):
        """Returns a function that maps strings to the served outputs.

        Args:
            text_features: the module that `text_features` made.
            compute: a function from features to numbers.
        """

        def answer(**strings):
            features = text_features(**strings)
            return self.answers(compute(features), features)

        return answer

    def meaning(self):
        """Describes each served output in a line, for the generated documentation."""
        raise NotImplementedError

    def answer(self, outputs):
        """Returns a `Predictor`'s answer for one input, a dict that is easy to read.

        Args:
            outputs: the served outputs of the input by name: str, float and int, arrays
                of numbers, and nested lists of str.
        """
        return outputs

    def outputs(self, numbers):
        """Returns the model's outputs behind `numbers`, as `interpret` takes them."""
        raise NotImplementedError

    def as_trained(self, scores):
        """Returns the task as a model with these dev scores in training answers it."""
        return self

    def to_dict(self):
        """Returns the JSON form, which `registry.task_of` reads."""
        fields = {"kind": self.kind, **dataclasses.asdict(self)}
        del fields["early_exit"]
        return fields

    def check_fits(self, directory, asked):
        """Refuses to apply this task's model to the files of the task `asked`.

        Args:
            directory: of the model, for messages.
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
