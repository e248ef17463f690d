"""Serves question answering: answers are spans of the given context."""

import tensorflow as tf

from albert_tf.tasks.question_answering import in_graph
from albert_tf.tasks.question_answering.answers import beams_of_logits
from albert_tf.tasks.question_answering.answers import beams_of_outputs


class Answering(tf.Module):
    """Maps strings to answers; windows, model and ranking are in the graph.

    Args:
        text_features: a `WindowFeatures`.
        compute: maps int32 features `[windows, tokens]` to the outputs of an
            `AlbertForQuestionAnswering` or an `AlbertForAnswerableQuestions`.
        n_best_size: number of candidates in the softmax.
        max_answer_length: maximum number of tokens in an answer.
        top_k: number of answers per question.

    Call: question and context, string `[batch]`, UTF-8. Returns a dict:
        answers: string `[batch, top_k]`, distinct, best first, padded with ""
        scores: float32 `[batch, top_k]`, the softmax over all candidates
        start, end: int32 `[batch, top_k]`, bounds in characters of the context, end
            exclusive
        no_answer_score: float32 `[batch]`, the evidence for no answer: in SQuAD 2.0
            the null odds, to compare with `null_score_diff_threshold`; in SQuAD 1.1
            the score of [CLS] as start and end minus the best answer's score
    """

    def __init__(self, text_features, compute, n_best_size, max_answer_length, top_k):
        super().__init__()
        self._text_features = text_features
        self._compute = compute
        self._limits = n_best_size, max_answer_length, top_k

    def __call__(self, question, context):
        context = tf.strings.unicode_transcode(
            context, "UTF-8", "UTF-8", errors="replace"
        )
        features, layout, *characters = self._text_features.windows(question, context)
        outputs = self._compute(features)
        always_answers = "start_logits" in outputs
        if always_answers:
            logits = outputs["start_logits"], outputs["end_logits"]
            lengths = tf.reduce_sum(features["input_mask"], axis=1)
            *beams, _ = beams_of_logits(*logits, self._limits[0], lengths)
            null = tf.gather(tf.add(*logits), layout.cls_positions, batch_dims=1)
        else:
            *beams, null = beams_of_outputs(outputs)
        found = in_graph.answers(layout, *characters, beams, context, *self._limits)
        count = tf.size(context, tf.int64)
        null = tf.math.unsorted_segment_min(null, layout.text, count)
        best = tf.cast(found.pop("best"), tf.float32)
        if always_answers:
            null -= best
        return {**found, "no_answer_score": null}
