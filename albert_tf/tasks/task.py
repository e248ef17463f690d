"""Tasks: the one interface that training, files and serving know."""

import abc
import dataclasses
import typing

import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.families import registry
from albert_tf.tasks.tokenized_examples import TokenizedExamples


class Prepared(typing.NamedTuple):
    """Examples that were tokenized.

    Attributes:
        examples: the `Examples` that were read.
        tokens: the result of `Task.tokenize`, with its labels.
    """

    examples: typing.Any
    tokens: typing.Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(abc.ABC):
    """A task, apart from its files: from examples to the served model.

    `training_info.json` of a fine-tuned model holds `to_dict()` under `"task"`, where
    prediction and export find it again through `albert_tf.tasks.registry`. A class that
    sets `kind` registers itself.

    Attributes:
        name: name of the task, as given by `--task_name`.
        metrics: names of scores; the first one, higher is better, picks the best
            checkpoint.
        early_exit: the `EarlyExitFlags` of a model to train that may answer before the
            last layer, or None. The model keeps them.
    """

    name: str
    metrics: tuple = ()
    early_exit: typing.Any = None

    kinds: typing.ClassVar[dict] = {}
    """The registered classes by their `kind`."""
    kind: typing.ClassVar[str]
    """Name of the class in `kinds`."""
    purpose: typing.ClassVar[str]
    """The `purpose` of the models that can be fine-tuned."""
    head_class: typing.ClassVar[type]
    """The `tasks.serving.Head` of a model that is served."""
    default_metrics: typing.ClassVar[tuple] = ()
    """The `metrics` of every task of the class; () where they differ."""
    tokens_class: typing.ClassVar[type] = TokenizedExamples
    """Class of `tokenize`'s result; its fields are arrays, which can be cached."""
    row_settings: typing.ClassVar[tuple] = ()
    """Names of fields that decide, beside tokenizer and length, how examples become
    rows; a model is applied with its training's."""
    by_token: typing.ClassVar[bool] = False
    """True if the model's outputs are of tokens; then a teacher reads the same ones."""
    min_tokens: typing.ClassVar[int] = 1
    """Tokens to which the model's input is padded at least."""

    def __init_subclass__(cls):
        if "kind" in vars(cls):
            Task.kinds[cls.kind] = cls

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int and type(value) is not int:
                raise ValueError(f"{field.name} is {value!r}, expected an integer")
            if field.type is float and type(value) not in (int, float):
                raise ValueError(f"{field.name} is {value!r}, expected a number")
        metrics = self.default_metrics or self.metrics
        object.__setattr__(self, "metrics", metrics)

    # From examples to features.

    @abc.abstractmethod
    def tokenize(self, examples, tokenizer, max_seq_length):
        """Makes the `tokens_class` of the examples, without labels; it is cached."""

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

    def model_arguments(self):
        """Returns arguments of models that the task decides."""
        return {} if self.early_exit is None else self.early_exit.exit_arguments()

    @abc.abstractmethod
    def objective(self):
        """Makes the engine's `Objective`."""

    # What a student learns of a teacher.

    def distilled(self, outputs):
        """Returns what is learned of a model's outputs in training, float32.

        It is `[batch, …]`, or `[batch, tokens, …]` where the task is `by_token`.
        """
        return tf.cast(outputs, tf.float32)

    def as_wide(self, logits, config):
        """Returns a teacher's logits in the width of the student's of this config."""
        return logits

    def distances(self, logits, teacher, temperature):
        """Computes how far both are apart, for each weight of the labels' loss.

        Args:
            logits, teacher: the student's and the teacher's result of `distilled`.
            temperature: by which logits are divided.
        """
        raise NotImplementedError

    # What comes out. `outputs` is what the model returns for all rows: an array
    # `[rows, ...]`, or a dict of such.

    def interpret(self, prepared, outputs):
        """Computes, once from `outputs`, the basis of scores and files."""
        return outputs

    @abc.abstractmethod
    def score(self, prepared, interpreted):
        """Returns `{metric: float}` with at least `metrics`."""

    def write_scored(self, output_dir, name, prepared, interpreted):
        """Writes files that help to understand the scores of the examples `name`."""
        return

    @abc.abstractmethod
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
