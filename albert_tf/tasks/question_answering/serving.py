"""Answers of a served model of questions: a stretch of the context that is given."""

import numpy as np
import tensorflow as tf

from albert_tf.errors import UserError
from albert_tf.tasks.question_answering import in_graph
from albert_tf.tasks.question_answering.in_graph import WindowFeatures
from albert_tf.tasks.serving import Head
from albert_tf.tasks.serving import at_least
from albert_tf.tasks.serving import rows_of

_BEAMS = (
    "start_top_index",
    "start_top_log_probs",
    "end_top_index",
    "end_top_log_probs",
)
_MEANING = {
    "answers": "the best answers, best first, of different text; empty: there is none",
    "scores": "their shares of the probability of all candidates",
    "start": "the first character of each answer in the context",
    "end": "the one after the last",
}


class Answering(tf.Module):
    """Strings to answers; windows, model and post-processing are in the graph.

    Args:
        text_features: a `WindowFeatures`.
        compute: maps int32 features `[windows, tokens]` to the outputs of an
            `AlbertForQuestionAnswering` or an `AlbertForAnswerableQuestions`.
        n_best_size: candidates among which probabilities are shared.
        max_answer_length: tokens of an answer at most.
        top_k: answers to a question.

    Call: question and context, string `[batch]`, UTF-8. Returns a dict:
        answers: string `[batch, top_k]`, best first, of different text; "" where there
            are fewer
        scores: float32 `[batch, top_k]`, their shares of the probability of all
            candidates
        start, end: int32 `[batch, top_k]`, the characters of the context: the first
            one, and the one after the last
        no_answer_score: float32 `[batch]`, how much speaks for no answer: of SQuAD 2.0
            the null odds, to be compared with `null_score_diff_threshold`; of SQuAD 1.1
            by how much [CLS] is a better start and end than the best answer's

    Raises:
        UserError: `top_k` is not from 1 to `n_best_size`.
    """

    def __init__(
        self, text_features, compute, n_best_size=20, max_answer_length=30, top_k=3
    ):
        super().__init__()
        if not 1 <= top_k <= n_best_size:
            raise UserError(
                f"top_k={top_k}: expected 1 to n_best_size={n_best_size} answers."
            )
        self._text_features = text_features
        self._compute = compute
        self._limits = n_best_size, max_answer_length, top_k

    def __call__(self, question, context):
        context = tf.strings.unicode_transcode(
            context, "UTF-8", "UTF-8", errors="replace"
        )
        windows = self._text_features.windows(question, context)
        outputs = self._compute(windows.features)
        always_answers = "start_logits" in outputs
        if always_answers:
            beams = in_graph.beams_of_logits(
                outputs["start_logits"],
                outputs["end_logits"],
                windows.features["input_mask"],
                self._limits[0],
            )
            logits = outputs["start_logits"] + outputs["end_logits"]
            null = tf.gather(logits, windows.cls_positions, batch_dims=1)
        else:
            beams, null = _beams(outputs), outputs["cls_logits"]
        found = in_graph.answers(windows, beams, context, *self._limits)
        count = tf.size(context, tf.int64)
        null = tf.math.unsorted_segment_min(null, windows.question, count)
        best = tf.cast(found.pop("best"), tf.float32)
        if always_answers:
            null -= best
        return {**found, "no_answer_score": null}


def _beams(outputs):
    starts, start_scores, ends, end_scores = (outputs[name] for name in _BEAMS)
    grid = tf.concat([tf.shape(starts), [-1]], axis=0)
    return (
        starts[:, :, None],
        start_scores[:, :, None],
        tf.reshape(ends, grid),
        tf.reshape(end_scores, grid),
    )


class QuestionHead(Head):
    """Answers to questions on contexts of any length; logits for token ids."""

    name = "question_answering"
    text_inputs = ("question", "context")
    reads_whole = "context"
    by_token = True
    example = {
        "question": "is it a very good one ?",
        "context": "it is a very good one .",
    }

    def compute(self, features):
        # The beams of the model need so many tokens.
        return super().compute(at_least(features, self.task.min_tokens))

    def numbers(self, outputs):
        return dict(outputs)

    def text_features(self, max_seq_length):
        sizes = self.task.window_sizes(max_seq_length)
        # The windows hold whatever token the beams of the model name.
        return WindowFeatures(self.tokenizer, sizes, self.task.min_tokens)

    def string_answers(self, text_features, compute):
        task = self.task
        return Answering(
            text_features,
            compute,
            task.n_best_size,
            task.max_answer_length,
            top_k=min(3, task.n_best_size),
        )

    def meaning(self):
        meaning = {**self.of_numbers, **_MEANING}
        return {**meaning, "no_answer_score": self._no_answer()}

    def answer(self, outputs):
        """Returns the answer, "" for none, its candidates and `no_answer_score`."""
        names = {"answer": "answers", "score": "scores", "start": "start", "end": "end"}
        candidates = [row for row in rows_of(outputs, names) if row["answer"]]
        none, threshold = outputs["no_answer_score"], self.task.threshold()
        is_answered = candidates and (threshold is None or none < threshold)
        return {
            "answer": candidates[0]["answer"] if is_answered else "",
            "answers": candidates,
            "no_answer_score": none,
        }

    def outputs(self, numbers):
        return {name: np.asarray(value) for name, value in numbers.items()}


class SpanHead(QuestionHead):
    """Of SQuAD 1.1: every question has an answer."""

    of_numbers = {
        "start_logits": "for each token, the score of being the first of the answer",
        "end_logits": "for each token, the score of being the last of the answer",
    }
    along = dict.fromkeys(of_numbers, "input_ids")

    def _no_answer(self):
        return "how much higher no answer scores than the best answer"


class AnswerBeamsHead(QuestionHead):
    """Of SQuAD 2.0: some questions have no answer."""

    of_numbers = {
        "start_top_log_probs": "log probabilities of the best starts, best first",
        "start_top_index": "the tokens of these starts",
        "end_top_log_probs": "of the best ends given each start, start by start",
        "end_top_index": "the tokens of these ends",
        "cls_logits": "the score of giving no answer",
    }

    def _no_answer(self):
        """Describes the score, and its threshold for no answer by the command."""
        threshold = self.task.null_score_diff_threshold
        best = ""
        if threshold is not None:
            best = f"; in training, giving none was best from {threshold} on"
        return f"the score of giving no answer{best}"
