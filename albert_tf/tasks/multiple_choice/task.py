"""Multiple choice as a task: from files of questions to the options chosen."""

import collections
import dataclasses
import typing

import numpy as np
import tensorflow as tf

from albert_tf.models.multiple_choice import NO_CHOICE
from albert_tf.objectives.distillation import softmax_distances
from albert_tf.tasks import metrics
from albert_tf.tasks.classification.objective import TextObjective
from albert_tf.tasks.classification.objective import label_hits
from albert_tf.tasks.classification.objective import label_losses
from albert_tf.tasks.multiple_choice import results
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.task import Task

PREDICTIONS = "predictions.jsonl"


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultipleChoice(Task):
    """Questions on texts, each with options of which one is right; official RACE.

    Attributes:
        max_qa_length: tokens of a question with an option at most; the last are kept.
        dropout_prob: dropout on the pooled output, in training.
    """

    max_qa_length: int = 128
    dropout_prob: float = 0.1

    kind: typing.ClassVar[str] = "multiple_choice"
    models: typing.ClassVar[tuple] = (
        "albert_tf.models.multiple_choice.AlbertForMultipleChoice",
        "albert_tf.models.xlnet.fine_tuned.XLNetForMultipleChoice",
    )
    row_settings: typing.ClassVar[tuple] = ("max_qa_length",)
    has_accuracy: typing.ClassVar[bool] = True

    def __post_init__(self):
        if type(self.max_qa_length) is not int:
            raise ValueError(
                f"max_qa_length is {self.max_qa_length!r}, expected an integer"
            )
        if type(self.dropout_prob) not in (int, float):
            raise ValueError(
                f"dropout_prob is {self.dropout_prob!r}, expected a number"
            )
        object.__setattr__(self, "metrics", ("accuracy",))

    # From examples to features.

    def tokenize(self, examples, tokenizer, max_seq_length):
        return tokenize_questions(
            examples.questions, tokenizer, max_seq_length, self.max_qa_length
        )

    # The model.

    def model_arguments(self):
        dropout = {"classifier_dropout_prob": self.dropout_prob}
        return {**super().model_arguments(), **dropout}

    def objective(self):
        return TextObjective(self)

    def losses(self, logits, labels):
        return label_losses(logits, labels)

    def right(self, logits, labels):
        return label_hits(logits, labels)

    def distances(self, logits, teacher, temperature):
        # The batch need not have a question with all choices.
        kept = teacher[:, : tf.shape(logits)[1]]
        return softmax_distances(logits, kept, temperature)

    # What comes out: logits `[N, choices]`.

    def interpret(self, prepared, outputs):
        """Returns the logits, with `NO_CHOICE` where a question lacks an option."""
        return np.where(prepared.tokens.lengths > 0, outputs, NO_CHOICE)

    def score(self, prepared, interpreted):
        """Computes accuracy and loss, and accuracies of groups and simple guesses."""
        labels, predictions = prepared.tokens.labels, interpreted.argmax(axis=1)
        questions = prepared.examples.questions
        of = np.array([question.group for question in questions])
        by_group = {
            f"{group}_accuracy": metrics.accuracy(
                labels[of == group], predictions[of == group]
            )
            for group in prepared.examples.groups()
        }
        return {
            "accuracy": metrics.accuracy(labels, predictions),
            **by_group,
            "loss": metrics.cross_entropy(labels, interpreted),
            **baseline_scores(questions),
        }

    def write_scored(self, output_dir, name, prepared, interpreted):
        results.write_error_page(
            output_dir / f"{name}_errors.html",
            f"{self.name}: {prepared.examples.path}",
            prepared.examples.questions,
            metrics.softmax(interpreted),
        )

    def write_predicted(
        self, output_dir, prefix, prepared, interpreted, submission=None
    ):
        results.write_predictions(
            output_dir / f"{prefix}{PREDICTIONS}",
            prepared.examples.questions,
            metrics.softmax(interpreted),
        )

    @property
    def head_class(self):
        from albert_tf.tasks.multiple_choice.serving import MultipleChoiceHead

        return MultipleChoiceHead


def baseline_scores(questions):
    """Computes the accuracies of three guesses, by metric.

    `random_accuracy` is expected of a random option. `longest_accuracy` is for the
    option with the most characters (the first of equal ones), `position_accuracy` for
    the place at which most of these very questions have their answer.

    Args:
        questions: list of `Question`, with labels.
    """
    count = len(questions)
    longest = sum(
        question.label == _longest(question.options) for question in questions
    )
    places = collections.Counter(question.label for question in questions)
    return {
        "random_accuracy": sum(1 / len(q.options) for q in questions) / count,
        "longest_accuracy": longest / count,
        "position_accuracy": max(places.values()) / count,
    }


def _longest(options):
    return max(range(len(options)), key=lambda place: len(options[place]))
