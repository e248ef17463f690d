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
        ([0.1], [1.0], 0),
        ([NAN], [NAN], 0),
        ([NAN, 0.1], [1.0, 1.0], 0),
        ([0.3, 0.1, NAN], [1.0, 1.0, 1.0], 2),
        ([0.2, 0.2], [1.0, 1.0], 1),
        ([0.5, 0.5], [0.3, 0.2], 0),
        ([0.5, 0.5, 0.5], [0.3, 0.2, 0.2], 1),
        ([0.5, 0.5], [0.2, NAN], 1),
        ([0.5, 0.5], [NAN, 0.3], 0),
        ([0.5, 0.4], [0.3, 0.1], 1),
        ([0.5, NAN], [0.3, 0.1], 1),
        ([0.4, 0.5], [0.1, 0.3], 0),
    ],
)
def test_of_equals_the_one_with_the_lower_loss_is_the_best(metrics, losses, expected):
    assert evaluations_since_best(entries(metrics, losses), "score") == expected


def test_patience():
    evaluations = entries([0.5, 0.1, 0.2], [0.3, 0.3, 0.3])
    assert not out_of_patience([], "score", 1)
    assert not out_of_patience(evaluations, None, 2)
    assert not out_of_patience(evaluations, "score", 0)
    assert not out_of_patience(evaluations[:2], "score", 2)
    assert out_of_patience(evaluations, "score", 2)


def test_a_lower_loss_of_equal_scores_is_worth_waiting_for():
    equal = [0.5, 0.5, 0.5]
    assert not out_of_patience(entries(equal, [0.3, 0.2, 0.1]), "score", 2)
    assert out_of_patience(entries(equal, [0.3, 0.3, 0.4]), "score", 2)


class Scripted:
    """An evaluator whose results are known before."""

    def __init__(self, scores, losses):
        self.results = zip(scores, losses, strict=True)

    def evaluate(self, dataset):
        score, loss = next(self.results)
        return {"score": score, "loss": loss}


def train(make_linear_trainer, batches, scores, steps=6, losses=None, **options):
    saved = []
    trainer = make_linear_trainer(
        steps,
        options={"eval_steps": 1, "eval_at_start": False, **options},
        evaluator=Scripted(scores, losses or [1.0] * len(scores)),
    )

    def save_best(step, results):
        saved.append((step, results["score"]))

    trainer.train(batches(), "held out", save_best)
    return trainer, saved


def test_every_better_model_is_saved(make_linear_trainer, batches):
    scores = [0.1, 0.3, 0.2, 0.4]
    trainer, saved = train(make_linear_trainer, batches, scores, 4, best_metric="score")
    assert saved == [(1, 0.1), (2, 0.3), (4, 0.4)]


@pytest.mark.slow
def test_of_equal_scores_the_one_with_the_lower_loss_is_saved(
    make_linear_trainer, batches
):
    scores, losses = [0.5, 0.5, 0.5, 0.4], [0.3, 0.2, 0.25, 0.1]
    _, saved = train(
        make_linear_trainer, batches, scores, 4, losses=losses, best_metric="score"
    )
    assert [step for step, _ in saved] == [1, 2]


def test_a_run_that_improves_is_not_stopped(make_linear_trainer, batches):
    options = {"best_metric": "score", "patience": 2, "losses": [0.4, 0.3, 0.2, 0.1]}
    trainer, saved = train(make_linear_trainer, batches, [0.5] * 4, 4, **options)
    assert trainer.step == 4 and [step for step, _ in saved] == [1, 2, 3, 4]


def test_the_evaluation_that_ends_training_is_in_the_history(
    make_linear_trainer, batches
):
    options = {"best_metric": "score", "patience": 2}
    trainer, saved = train(make_linear_trainer, batches, [0.3, 0.2, 0.1], **options)
    assert trainer.step == 3 and saved == [(1, 0.3)]
    path = pathlib.Path(trainer.options.output_dir) / "history.json"
    assert [entry["score"] for entry in json.loads(path.read_text())] == [0.3, 0.2, 0.1]
    again, saved = train(make_linear_trainer, batches, [], **options)
    assert again.step == 3 and not saved
