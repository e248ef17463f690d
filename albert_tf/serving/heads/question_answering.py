"""What a served model of questions answers: a stretch of the context that is given."""

import dataclasses

import tensorflow as tf

from albert_tf.serving.heads.builders import Head
from albert_tf.serving.padding import in_groups
from albert_tf.serving.requests import bounded
from albert_tf.tasks.question_answering.answering import Answering
from albert_tf.tasks.question_answering.in_graph_windows import WindowFeatures
from albert_tf.tasks.question_answering.task import SquadTask

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

    example = {
        "question": "is it a very good one ?",
        "context": "it is a very good one .",
    }

    def __init__(self, windows):
        super().__init__()
        self.windows = windows

    def __call__(self, question, context):
        return self.windows(question, context).features


@dataclasses.dataclass(frozen=True)
class _FeaturesOf:
    """Makes the `QuestionFeatures` of a task."""

    task: SquadTask

    def of(self, tokenizer, max_seq_length):
        sizes = self.task.window_sizes(max_seq_length)
        # The windows hold whatever token the beams of the model name.
        windows = WindowFeatures.of(tokenizer, sizes, self.task.min_tokens)
        return QuestionFeatures(windows)


def question_answering_head(model, task, tokenizer):
    """Answers to questions on contexts of any length; logits for token ids."""
    is_first = task.version == 1

    def compute(features):
        # The beams of the model need so many tokens.
        missing = tf.maximum(task.min_tokens - tf.shape(features["input_ids"])[1], 0)
        padded = {n: tf.pad(v, [[0, 0], [0, missing]]) for n, v in features.items()}
        return task.served_numbers(model(padded, training=False))

    def string_answers(text_features, compute):
        # A few windows at a time: a context may have any number of them.
        answering = Answering(
            text_features.windows,
            in_groups(head, compute),
            task.n_best_size,
            task.max_answer_length,
            top_k=min(3, task.n_best_size),
        )
        return bounded(answering, "context")

    meaning = {**task.served_meaning(), **_MEANING}
    meaning["no_answer_score"] = _no_answer(task, is_first)
    head = Head(
        task.serves,
        model.config,
        model.variables,
        compute,
        lambda numbers, features: task.served_answers(numbers),
        meaning,
        text_inputs=task.text_inputs,
        along=dict.fromkeys(task.served_meaning(), "input_ids") if is_first else {},
        text_features=_FeaturesOf(task),
        string_answers=string_answers,
    )
    return head


def _no_answer(task, is_first):
    """What the score says, and from where on the command answers nothing."""
    if is_first:
        return "how much higher no answer scores than the best answer"
    threshold = task.null_score_diff_threshold
    best = ""
    if threshold is not None:
        best = f"; in training, giving none was best from {threshold} on"
    return f"the score of giving no answer{best}"
