"""The task of multiple choice."""

import collections
import dataclasses
import html

import numpy as np
import tensorflow as tf

from albert_tf.display import html_page
from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.models.classification import NO_CHOICE
from albert_tf.objectives.texts import OneLabel
from albert_tf.objectives.texts import TextObjective
from albert_tf.tasks import metrics
from albert_tf.tasks.multiple_choice.questions import read_jsonl
from albert_tf.tasks.multiple_choice.questions import read_questions
from albert_tf.tasks.multiple_choice.rows import SPECIAL
from albert_tf.tasks.multiple_choice.rows import tokenize_questions
from albert_tf.tasks.multiple_choice.serving import ChoiceFeatures
from albert_tf.tasks.served_answers import at_least
from albert_tf.tasks.served_answers import log_shares
from albert_tf.tasks.served_answers import require
from albert_tf.tasks.task import Task

PREDICTIONS = "predictions.jsonl"


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultipleChoice(OneLabel, Task):
    """Questions on texts with one correct option each; official RACE.

    Attributes:
        max_qa_length: maximum number of tokens in a question with an option, which is
            truncated at the beginning.
        dropout_prob: dropout on the pooled output, in training.
    """

    max_qa_length: int = 128
    dropout_prob: float = 0.1

    kind = "multiple_choice"
    purpose = "multiple_choice"
    default_metrics = ("accuracy",)
    also_scored = ("loss",)
    row_settings = ("max_qa_length",)
    serves = "multiple_choice"
    text_inputs = ("question", "context", "options")
    text_lists = ("options",)
    feature_axes = 3
    example = {
        "question": "the film was _ .",
        "context": "it is a very good one .",
        "options": ["good", "bad"],
    }

    # From files to features.

    def read(self, path, columns=None):
        """Reads the `ChoiceFile` of a custom file, whose fields have fixed names."""
        return read_questions({path: read_jsonl(path)})

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

    def distances(self, logits, teacher, temperature):
        # A batch may have no question with the maximum number of choices.
        kept = teacher[:, : tf.shape(logits)[1]]
        return super().distances(logits, kept, temperature)

    # Outputs: logits `[N, choices]`.

    def interpret(self, prepared, outputs):
        """Returns the logits, with `NO_CHOICE` for missing options."""
        return np.where(prepared.tokens.lengths > 0, outputs, NO_CHOICE)

    def score(self, prepared, interpreted):
        """Computes accuracy and loss, and the accuracies of groups and baselines."""
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
        """Writes an HTML page of the wrongly answered questions."""
        questions = prepared.examples.questions
        articles = [
            _article(question, row)
            for question, row in zip(
                questions, metrics.softmax(interpreted), strict=True
            )
            if row.argmax() != question.label
        ]
        introduction = (
            f"{len(articles)} of {len(questions)} answers are wrong. Among the "
            f"options: {html_page.EXPECTED}, {html_page.ANSWERED}."
        )
        path, title = output_dir / f"{name}_errors.html", prepared.examples.path
        html_page.write_page(path, f"{self.name}: {title}", introduction, articles)

    def write_predicted(self, output_dir, prefix, prepared, interpreted):
        """Writes a JSON line per question: id, choice, its text, probabilities."""
        lines, probabilities = [], metrics.softmax(interpreted)
        for question, row in zip(
            prepared.examples.questions, probabilities, strict=True
        ):
            choice = int(row.argmax())
            found = {
                "id": question.id,
                "choice": choice,
                "answer": question.options[choice],
                "probabilities": row[: len(question.options)].tolist(),
            }
            lines.append(json_text(found, indent=None))
        write_atomically(output_dir / f"{prefix}{PREDICTIONS}", "".join(lines))

    # Serving: the probability of each option, and the most probable one.

    def compute(self, model, features, exit_rule=None):
        # Even an empty batch needs a choice for argmax.
        return super().compute(model, at_least(features, 1, axis=1), exit_rule)

    def numbers(self, outputs):
        return {"probabilities": tf.nn.softmax(outputs)}

    def answers(self, numbers, features):
        has_options = tf.reduce_any(features["input_mask"] > 0, axis=[1, 2])
        check = require(tf.reduce_all(has_options), "A question has no options.")
        with tf.control_dependencies([check]):
            numbers = {name: tf.identity(value) for name, value in numbers.items()}
        return self.chosen(numbers)

    def chosen(self, numbers):
        """Adds `choice`, int32 `[batch]`, to the numeric outputs."""
        best = tf.argmax(numbers["probabilities"], axis=-1, output_type=tf.int32)
        return {**numbers, "choice": best}

    def text_features(self, tokenizer, max_seq_length):
        # A model from another program does not record how its rows are built.
        max_qa_length = min(self.max_qa_length, max_seq_length - SPECIAL - 1)
        return ChoiceFeatures(tokenizer, max_seq_length, max_qa_length)

    def meaning(self):
        return {
            "probabilities": "probability of each option; 0 for those left out",
            "choice": "the place of the most probable option, from 0",
        }

    def answer(self, outputs):
        """Returns the index of the most probable option, and all probabilities."""
        return {**outputs, "probabilities": outputs["probabilities"].tolist()}

    def outputs(self, numbers):
        return log_shares(numbers["probabilities"])  # 0 for missing options


def baseline_scores(questions):
    """Computes the accuracies of three baselines, by metric.

    `random_accuracy` is the expectation for a random option, `longest_accuracy` is for
    the option with the most characters (the first one in a tie), and
    `position_accuracy` for the most frequent position of the answer in these questions.
    """
    count = len(questions)
    longest = sum(q.label == _longest(q.options) for q in questions)
    places = collections.Counter(question.label for question in questions)
    return {
        "random_accuracy": sum(1 / len(q.options) for q in questions) / count,
        "longest_accuracy": longest / count,
        "position_accuracy": max(places.values()) / count,
    }


def _longest(options):
    return max(range(len(options)), key=lambda place: len(options[place]))


def _article(question, probabilities):
    by_class = {"gold": question.label, "predicted": probabilities.argmax()}
    items = []
    for place, option in enumerate(question.options):
        classes = [name for name, own in by_class.items() if own == place]
        text = html_page.marked(option, classes)
        items.append(f"<li>{text} {probabilities[place]:.3f}</li>")
    return html_page.article(
        question.text,
        question.id,
        '<ol type="A">' + "".join(items) + "</ol>",
        html.escape(question.context),
    )
