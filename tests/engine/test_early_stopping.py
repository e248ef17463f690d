"""The best model is kept, and training ends when nothing better comes."""

import json
import pathlib

import pytest

from albert_tf.engine.evaluation import evaluations_since_best
from albert_tf.engine.evaluation import out_of_patience

NAN = float("nan")


def entries(scores, losses):
    pairs = zip(scores, losses, strict=True)
    return [{"score": score, "loss": loss} for score, loss in pairs]


@pytest.mark.parametrize(
    ("metrics", "losses", "expected"),
    [
        ([NAN], [NAN], 0),
        ([NAN, 0.1], [1.0, 1.0], 0),
        ([0.3, 0.1, NAN], [1.0, 1.0, 1.0], 2),
        ([0.5, 0.5, 0.5], [0.3, 0.2, 0.2], 1),
        ([0.5, 0.5], [0.2, NAN], 1),
        ([0.5, 0.5], [NAN, 0.3], 0),
        ([0.5, NAN], [0.3, 0.1], 1),
        ([0.4, 0.5], [0.1, 0.3], 0),
    ],
)
def test_of_equals_the_one_with_the_lower_loss_is_the_best(metrics, losses, expected):
    assert evaluations_since_best(entries(metrics, losses), "score") == expected


def test_the_lowest_may_be_the_best():
    scores = entries([0.5, 0.2, NAN, 0.3], [1.0] * 4)
    assert evaluations_since_best(scores, "score", lower_is_better=True) == 2
    assert out_of_patience(scores, "score", 2, lower_is_better=True)
    assert not out_of_patience(scores[:3], "score", 2, lower_is_better=True)


def test_patience(caplog):
    caplog.set_level("INFO", "absl")
    evaluations = entries([0.5, 0.1, 0.2], [0.3, 0.3, 0.3])
    assert not out_of_patience([], "score", 1)
    assert not out_of_patience(evaluations, None, 2)
    assert not out_of_patience(evaluations, "score", 0)
    assert not out_of_patience(evaluations[:2], "score", 2)
    assert out_of_patience(evaluations, "score", 2)
    assert "best of 3 evaluations, 0.5000, was 2 evaluations ago" in caplog.text
    # A lower loss of equal scores is worth waiting for.
    assert not out_of_patience(entries([0.5] * 3, [0.3, 0.2, 0.1]), "score", 2)


class Scripted:
    """An evaluator whose results are known before."""

    def __init__(self, scores, losses):
        self.results = zip(scores, losses, strict=True)

    def evaluate(self, dataset):
        score, loss = next(self.results)
        return {"score": score, "loss": loss}


def test_every_better_model_is_saved_until_patience_ends(make_linear_trainer, batches):
    """The evaluation that ends training is in the history: the run has ended for ever.

    Of equal scores, the one with the lower loss is better.
    """
    scores, losses = [0.1, 0.3, 0.3, 0.2, 0.1], [1.0, 0.9, 0.8, 0.7, 0.7]
    saved = []

    def train(scores, losses):
        best = {"best_metric": "score", "patience": 2, "eval_at_start": False}
        scripted = Scripted(scores, losses)
        trainer = make_linear_trainer(9, evaluator=scripted, eval_steps=1, **best)
        trainer.train(batches(), "held out", lambda step, _: saved.append(step))
        return trainer

    trainer = train(scores, losses)
    assert (trainer.step, saved) == (5, [1, 2, 3])
    path = pathlib.Path(trainer.options.output_dir) / "history.json"
    assert [entry["score"] for entry in json.loads(path.read_text())] == scores
    assert train([], []).step == 5
