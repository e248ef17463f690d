"""The tasks SQuAD 1.1 and 2.0."""

import dataclasses
import typing

import numpy as np
import tensorflow as tf
from absl import logging

from albert_tf.errors import UserError
from albert_tf.objectives.distillation import sigmoid_distances
from albert_tf.tasks.question_answering import answers
from albert_tf.tasks.question_answering.answers import beams_of_logits
from albert_tf.tasks.question_answering.answers import beams_of_outputs
from albert_tf.tasks.question_answering.in_graph import WindowFeatures
from albert_tf.tasks.question_answering.objective import QuestionAnsweringObjective
from albert_tf.tasks.question_answering.objective import span_distances
from albert_tf.tasks.question_answering.questions import notice_lines
from albert_tf.tasks.question_answering.results import write_error_page
from albert_tf.tasks.question_answering.scores import evaluate_version_1
from albert_tf.tasks.question_answering.scores import evaluate_version_2
from albert_tf.tasks.question_answering.serving import Answering
from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tasks.served_answers import at_least
from albert_tf.tasks.served_answers import rows_of
from albert_tf.tasks.task import Task

_WAS_GIVEN = "null_score_diff_threshold_was_given"
_MEANING = {
    "answers": "the best answers, best first, of different text; empty: there is none",
    "scores": "their shares of the probability of all candidates",
    "start": "the first character of each answer in the context",
    "end": "the one after the last",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadTask(Task):
    """Base class for questions whose answer is a span of a paragraph.

    Attributes:
        doc_stride, max_query_length: see `WindowSizes`.
        n_best_size: number of candidates per question.
        max_answer_length: maximum number of tokens in an answer.
    """

    doc_stride: int = 128
    max_query_length: int = 64
    n_best_size: int = 20
    max_answer_length: int = 30

    version: typing.ClassVar[int]
    tokens_class = Windows
    row_settings = ("doc_stride", "max_query_length")
    by_token = True
    serves = "question_answering"
    text_inputs = ("question", "context")
    reads_whole = "context"
    example = {
        "question": "is it a very good one ?",
        "context": "it is a very good one .",
    }
    null_score_diff_threshold: typing.ClassVar[float | None] = None
    """Null odds from which on the answer is none; None where there always is one."""
    meaning_of_numbers: typing.ClassVar[dict]
    """Describes each numeric output in a line."""

    def beams(self, windows, outputs):
        """Returns the arrays of `beams_of_logits` for the model's outputs."""
        raise NotImplementedError

    def figures(self, questions, predictions):
        """Computes the scores of predictions: `{metric: number}`."""
        raise NotImplementedError

    # From examples to features.

    def window_sizes(self, max_seq_length):
        """Returns the `WindowSizes` for windows of a length.

        Raises:
            UserError: there is no room for a paragraph.
        """
        return WindowSizes(max_seq_length, self.doc_stride, self.max_query_length)

    def tokenize(self, examples, tokenizer, max_seq_length):
        notices, sizes = {}, self.window_sizes(max_seq_length)
        parts = windows_of(
            examples.paragraphs, tokenizer, sizes, notices, examples.is_training
        )
        windows = Windows.joined(list(parts))
        for line in notice_lines(notices):
            logging.warning("%s: %s", examples.path, line)
        if not examples.is_training:
            return windows
        # What only answers need is not cached.
        spans, is_best = windows.spans[:0], windows.is_max_context[:0]
        return dataclasses.replace(windows, spans=spans, is_max_context=is_best)

    def targets(self, examples, tokens):
        return tokens.answers if examples.is_training else None

    # The model.

    def objective(self):
        return QuestionAnsweringObjective(self.version)

    # Outputs.

    def interpret(self, prepared, outputs):
        """Makes a `Prediction` for each question."""
        asked = prepared.examples
        windows = dataclasses.replace(
            prepared.tokens, questions=asked.questions, contexts=asked.contexts
        )
        return answers.predict(
            windows,
            self.beams(windows, outputs),
            self.n_best_size,
            self.max_answer_length,
        )

    def score(self, prepared, interpreted):
        return self.figures(prepared.examples.questions, interpreted)

    def write_scored(self, output_dir, name, prepared, interpreted):
        examples, predictions = prepared.examples, interpreted
        figures = self.figures(examples.questions, predictions)
        threshold = figures.get("null_score_diff_threshold")
        answers.write_answers(output_dir, predictions, threshold)
        write_error_page(
            output_dir / f"{name}_errors.html",
            f"{self.name}: {examples.path}",
            examples,
            predictions,
            self.version,
            threshold,
        )

    def write_predicted(self, output_dir, prefix, prepared, interpreted):
        answers.write_answers(output_dir, interpreted, self.null_score_diff_threshold)

    # Serving: answers on contexts of any length; logits for token ids.

    def compute(self, model, features, exit_rule=None):
        # The model's beams need at least this many tokens.
        features = at_least(features, self.min_tokens)
        return super().compute(model, features, exit_rule)

    def numbers(self, outputs):
        return dict(outputs)

    def text_features(self, tokenizer, max_seq_length):
        sizes = self.window_sizes(max_seq_length)
        # Every token that the model's beams refer to is in the windows.
        return WindowFeatures(tokenizer, sizes, self.min_tokens)

    def string_answers(self, text_features, compute):
        limits = self.n_best_size, self.max_answer_length, min(3, self.n_best_size)
        return Answering(text_features, compute, *limits)

    def meaning(self):
        none = self.meaning_of_no_answer()
        return {**self.meaning_of_numbers, **_MEANING, "no_answer_score": none}

    def meaning_of_no_answer(self):
        """Describes `no_answer_score` in a line."""
        raise NotImplementedError

    def answer(self, outputs):
        """Returns the answer, "" for none, its candidates and `no_answer_score`."""
        names = {"answer": "answers", "score": "scores", "start": "start", "end": "end"}
        candidates = [row for row in rows_of(outputs, names) if row["answer"]]
        none, threshold = outputs["no_answer_score"], self.null_score_diff_threshold
        is_answered = candidates and (threshold is None or none < threshold)
        return {
            "answer": candidates[0]["answer"] if is_answered else "",
            "answers": candidates,
            "no_answer_score": none,
        }

    def outputs(self, numbers):
        return {name: np.asarray(value) for name, value in numbers.items()}


class SquadV1(SquadTask):
    """SQuAD 1.1: every question has an answer; official `run_squad_v1.py`."""

    kind = "squad_v1"
    purpose = "squad_v1"
    version = 1
    default_metrics = ("f1", "exact_match")
    meaning_of_numbers = {
        "start_logits": "for each token, the score of being the first of the answer",
        "end_logits": "for each token, the score of being the last of the answer",
    }
    along = dict.fromkeys(meaning_of_numbers, "input_ids")

    def distilled(self, outputs):
        """Returns the logits of starts and ends, `[batch, tokens, 2]`."""
        return tf.stack([outputs["start_logits"], outputs["end_logits"]], axis=-1)

    def distances(self, logits, teacher, temperature):
        return span_distances(logits, teacher, temperature)

    def beams(self, windows, outputs):
        logits = outputs["start_logits"], outputs["end_logits"]
        return beams_of_logits(*logits, self.n_best_size, windows.lengths)

    def figures(self, questions, predictions):
        return evaluate_version_1(questions, predictions)

    def meaning_of_no_answer(self):
        return "how much higher no answer scores than the best answer"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadV2(SquadTask):
    """SQuAD 2.0: some questions have no answer; official `run_squad_v2.py`.

    Attributes:
        start_n_top, end_n_top, head_dropout_prob: see `AlbertForAnswerableQuestions`.
        null_score_diff_threshold: minimum null odds of no answer; None to choose it on
            the scored questions, as the official code does.
    """

    start_n_top: int = 5
    end_n_top: int = 5
    head_dropout_prob: float = 0.1
    null_score_diff_threshold: float | None = None

    kind = "squad_v2"
    purpose = "squad_v2"
    version = 2
    default_metrics = ("f1", "exact")
    meaning_of_numbers = {
        "start_top_log_probs": "log probabilities of the best starts, best first",
        "start_top_index": "the tokens of these starts",
        "end_top_log_probs": "of the best ends given each start, start by start",
        "end_top_index": "the tokens of these ends",
        "cls_logits": "the score of giving no answer",
    }

    @property
    def min_tokens(self):
        """The width of the model's beams."""
        return max(self.start_n_top, self.end_n_top)

    def model_arguments(self):
        names = ("start_n_top", "end_n_top", "head_dropout_prob")
        return {name: getattr(self, name) for name in names}

    def window_sizes(self, max_seq_length):
        if max_seq_length < self.min_tokens:
            raise UserError(
                f"max_seq_length={max_seq_length} is less than "
                f"start_n_top={self.start_n_top} or end_n_top={self.end_n_top}; raise "
                "it."
            )
        return super().window_sizes(max_seq_length)

    def distilled(self, outputs):
        """Returns logits of start, end and no answer, `[batch, tokens, 3]`.

        End logits are conditioned on the correct start.
        """
        starts, ends = outputs["start_log_probs"], outputs["end_log_probs"]
        none = tf.broadcast_to(outputs["cls_logits"][:, None], tf.shape(starts))
        return tf.stack([starts, ends, none], axis=-1)

    def distances(self, logits, teacher, temperature):
        none = (logits[:, 0, 2], teacher[:, 0, 2])
        spans = span_distances(logits[..., :2], teacher[..., :2], temperature)
        return spans + 0.5 * sigmoid_distances(*none, temperature)

    def beams(self, windows, outputs):
        return beams_of_outputs(outputs)

    def figures(self, questions, predictions):
        given = self.null_score_diff_threshold
        figures = evaluate_version_2(questions, predictions, given)
        # A number, as all that is kept of an evaluation.
        return {**figures, _WAS_GIVEN: int(given is not None)}

    def meaning_of_no_answer(self):
        threshold = self.null_score_diff_threshold
        best = ""
        if threshold is not None:
            best = f"; in training, giving none was best from {threshold} on"
        return f"the score of giving no answer{best}"

    def as_trained(self, scores):
        if self.null_score_diff_threshold is not None:
            return self
        threshold = scores.get("null_score_diff_threshold")
        return dataclasses.replace(self, null_score_diff_threshold=threshold)
