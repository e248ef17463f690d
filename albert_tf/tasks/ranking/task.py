"""The task of ranking: one number for a query and a text."""

import dataclasses

import numpy as np
import tensorflow as tf

from albert_tf.io.files import json_text
from albert_tf.io.files import write_atomically
from albert_tf.tasks.classification.text_task import TextTask
from albert_tf.tasks.ranking import LOSSES
from albert_tf.tasks.ranking.lists import NO_GRADE
from albert_tf.tasks.ranking.lists import tokenize_lists
from albert_tf.tasks.ranking.metrics import NAMES
from albert_tf.tasks.ranking.metrics import ranking_metrics

PREDICTIONS = "predictions.jsonl"
_LEAST = -1e9  # the score of a missing text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ranking(TextTask):
    """Queries with graded texts, whose order is learned: a cross-encoder.

    The model is a classifier of pairs with the one label "relevant", which
    sentence-transformers reads as a `CrossEncoder`.

    Attributes:
        loss: one of `LOSSES`.
    """

    loss: str = LOSSES[0]
    labels: tuple = ("relevant",)
    pair: bool = True

    kind = "ranking"
    choices = {"loss": LOSSES}
    serves = "ranking"
    default_metrics = NAMES
    also_scored = ()
    example = {"text": "which film ?", "text_pair": "it is a very good one ."}

    @classmethod
    def told(cls, head):
        return {"name": cls.kind} if head.get("num_labels") == 1 else None

    def check_fits(self, directory, asked):
        # Whatever the name of the one label, its logit ranks.
        super().check_fits(directory, dataclasses.replace(asked, labels=self.labels))

    def tokenize(self, examples, tokenizer, max_seq_length):
        return tokenize_lists(examples.lists, tokenizer, max_seq_length, self)

    def model_arguments(self):
        return {**super().model_arguments(), "label_kind": "multi_label"}

    def losses(self, logits, labels):
        """Computes each query's loss, float32 `[queries]`.

        Args:
            logits: float32 `[queries, texts, 1]`.
            labels: float32 `[queries, any]`, the grades; `NO_GRADE` for no text.
        """
        scores, grades = logits[..., 0], labels[:, : tf.shape(logits)[1]]
        return _LOSSES[self.loss](scores, grades)

    def distances(self, logits, teacher, temperature):
        """Computes squared differences of scores from the query's mean.

        Half of MarginMSE (Hofstätter et al., arXiv 2010.02666) over all pairs of a
        query's texts; `temperature` is ignored.
        """
        own, teacher = logits[..., 0], teacher[:, : tf.shape(logits)[1]]
        there = tf.cast(teacher > _LEAST / 2, tf.float32)
        return _mean(tf.square(_centred(own, there) - _centred(teacher, there)), there)

    # Outputs: scores `[queries, texts]`.

    def interpret(self, prepared, outputs):
        return np.where(prepared.tokens.lengths > 0, outputs[..., 0], _LEAST)

    def score(self, prepared, interpreted):
        """Computes NDCG and MRR at 10, and MAP, of the queries with a relevant text."""
        return ranking_metrics(prepared.tokens.labels, interpreted)

    def write_scored(self, output_dir, name, prepared, interpreted):
        return

    def write_predicted(self, output_dir, prefix, prepared, interpreted):
        """Writes a JSON line per query: its texts, best first, with scores."""
        lines = []
        for own, row in zip(prepared.examples.lists, interpreted, strict=True):
            order = np.argsort(-row[: len(own.texts)], kind="stable")
            results = [
                {"text": own.texts[i], "score": float(self.sigmoid(row[i]))}
                for i in order
            ]
            line = {"query": own.query, "results": results}
            lines.append(json_text(line, indent=None))
        write_atomically(output_dir / f"{prefix}{PREDICTIONS}", "".join(lines))

    # Serving: a score from 0 to 1 for each pair.

    def numbers(self, outputs):
        return {"score": tf.sigmoid(outputs[:, 0])}

    def meaning(self):
        return {"score": "how well text_pair answers the query text, from 0 to 1"}


def _mean(values, there):
    """Averages `[queries, …]` over the true ones, 0 where there are none."""
    axes = list(range(1, values.shape.rank))
    total = tf.reduce_sum(values * there, axis=axes)
    return total / tf.maximum(tf.reduce_sum(there, axis=axes), 1.0)


def _centred(scores, there):
    return scores - _mean(scores, there)[:, None]


def binary_loss(scores, grades):
    """Computes the cross-entropy of each text; a grade above 1 counts as 1."""
    targets = tf.clip_by_value(grades, 0.0, 1.0)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(targets, scores)
    return _mean(losses, tf.cast(grades > NO_GRADE, tf.float32))


def _pairs(scores, grades):
    """Returns differences of scores `[queries, texts, texts]`, and which are to be > 0.

    The latter is 1 where the first text has the higher grade, else 0.
    """
    is_text = tf.cast(grades > NO_GRADE, tf.float32)
    better = tf.cast(grades[:, :, None] > grades[:, None, :], tf.float32)
    better *= is_text[:, None, :]
    return scores[:, :, None] - scores[:, None, :], better


def margin_loss(scores, grades):
    """Computes the mean hinge loss of pairs of grades, with a margin of 1."""
    differences, better = _pairs(scores, grades)
    return _mean(tf.nn.relu(1.0 - differences), better)


def lambda_loss(scores, grades):
    """Computes LambdaRank's loss: logistic, weighted by what a swap changes in NDCG.

    Source: Burges, "From RankNet to LambdaRank to LambdaMART" (2010), section 4.
    """
    differences, better = _pairs(scores, grades)
    is_text = grades > NO_GRADE
    gains = tf.where(is_text, 2.0 ** tf.maximum(grades, 0.0) - 1.0, 0.0)
    shown = tf.where(is_text, tf.stop_gradient(scores), _LEAST)
    best = tf.argsort(shown, axis=1, direction="DESCENDING", stable=True)
    ranks = tf.cast(tf.argsort(best, axis=1), tf.float32)
    discounts = _discounts(ranks)
    ideal = tf.sort(gains, axis=1, direction="DESCENDING")
    places = tf.range(tf.cast(tf.shape(grades)[1], tf.float32))
    ideal = tf.reduce_sum(ideal * _discounts(places), axis=1)
    swaps = (gains[:, :, None] - gains[:, None, :]) * (
        discounts[:, :, None] - discounts[:, None, :]
    )
    weights = better * tf.abs(swaps)
    losses = tf.reduce_sum(weights * tf.nn.softplus(-differences), axis=[1, 2])
    return tf.math.divide_no_nan(losses, ideal)


def _discounts(ranks):
    """Returns `1 / log2(rank + 2)` of ranks from 0."""
    return np.log(2.0) / tf.math.log(ranks + 2.0)


_LOSSES = {"lambda": lambda_loss, "binary": binary_loss, "margin": margin_loss}
