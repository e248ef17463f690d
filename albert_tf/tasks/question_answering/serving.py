"""Answers of a served model of questions: a stretch of the context that is given."""

import numpy as np
import tensorflow as tf

from albert_tf.tasks.question_answering.answering import Answering
from albert_tf.tasks.question_answering.in_graph_windows import WindowFeatures
from albert_tf.tasks.serving import Head

_MEANING = {
    "answers": "the best answers, best first, of different text; empty: there is none",
    "scores": "their shares of the probability of all candidates",
    "start": "the first character of each answer in the context",
    "end": "the one after the last",
}


class QuestionFeatures(tf.Module):
    """Questions and contexts to the features of their windows.

    Args:
        windows: a `WindowFeatures`.

    Call: question and context, string `[batch]`. Returns int32 `input_ids`,
    `input_mask`, `segment_ids` `[windows, tokens]`.
    """

    def __init__(self, windows):
        super().__init__()
        self.windows = windows

    def __call__(self, question, context):
        return self.windows(question, context).features


class QuestionHead(Head):
    """Answers to questions on contexts of any length; logits for token ids."""

    name = "question_answering"
    text_inputs = ("question", "context")
    reads_whole = "context"
    example = {
        "question": "is it a very good one ?",
        "context": "it is a very good one .",
    }

    @property
    def layout(self):
        return super().layout.padded_after

    def compute(self, features):
        # The beams of the model need so many tokens.
        tokens = tf.shape(features["input_ids"])[1]
        missing = tf.maximum(self.task.min_tokens - tokens, 0)
        return super().compute(
            {n: tf.pad(v, [[0, 0], [0, missing]]) for n, v in features.items()}
        )

    def numbers(self, outputs):
        return dict(outputs)

    def text_features(self, max_seq_length):
        sizes = self.task.window_sizes(max_seq_length)
        # The windows hold whatever token the beams of the model name.
        return QuestionFeatures(
            WindowFeatures.of(self.tokenizer, sizes, self.task.min_tokens)
        )

    def string_answers(self, text_features, compute):
        task = self.task
        return Answering(
            text_features.windows,
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
        columns = [np.array(outputs[name], object).tolist() for name in names.values()]
        rows = (
            dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
        )
        candidates = [row for row in rows if row["answer"]]
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
