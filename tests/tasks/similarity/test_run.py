"""run_similarity.py end to end, on a tiny table."""

import json

import numpy as np
import pytest

from albert_tf.engine.reporting.summaries import read_eval_results
from albert_tf.errors import UserError
from albert_tf.models.text_embedding import AlbertForTextEmbedding
from albert_tf.serving.predictor import Predictor
from albert_tf.tokenization import load_tokenizer
from tests.tasks.similarity.conftest import pairs
from tests.tasks.similarity.conftest import scored

_PAIR, _SCORED = ("anchor", "positive", "negative"), ("sentence1", "sentence2", "score")


@pytest.fixture
def triplets(write):
    write("train.tsv", _PAIR, pairs(64, 0))
    write("dev.tsv", _PAIR[:2], [row[:2] for row in pairs(8, 1)])
    write("test.tsv", _SCORED, scored(10, 2))


def scores(out):
    return {
        n: float(v) for n, v in read_eval_results(str(out / "eval_results.txt")).items()
    }


@pytest.mark.slow
def test_pairs_are_trained_scored_applied_and_exported(triplets, flags, tmp_path):
    served = tmp_path / "served"
    out = flags(do_train=True, do_eval=True, do_predict=True, export_dir=served)
    found = scores(out)
    history = json.loads((out / "history.json").read_text())
    assert [entry["step"] for entry in history] == [20, 40]
    assert found["ndcg_at_10"] == max(entry["ndcg_at_10"] for entry in history) > 0.8
    assert found["recall_at_10"] >= found["recall_at_1"]
    assert found["test_spearman"] > 0.7
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["task"]["loss"] == "info_nce"
    model = AlbertForTextEmbedding.from_pretrained(out / "model")
    texts = [row[0] for row in scored(10, 2)], [row[1] for row in scored(10, 2)]
    tokenizer = load_tokenizer(out / "model")
    first, second = (model(tokenizer(column)).numpy() for column in texts)
    lines = (out / "test_results.tsv").read_text().splitlines()
    assert lines[0] == "index\tsimilarity"
    similarities = [float(line.split("\t")[1]) for line in lines[1:]]
    np.testing.assert_allclose(similarities, np.sum(first * second, 1), atol=1e-4)
    answers = Predictor(served)(texts[0])
    np.testing.assert_allclose([a["embedding"] for a in answers], first, atol=1e-5)
    card = (served / "1" / "model_card.md").read_text()
    assert "a vector of length 1 for the text: the mean over its tokens" in card


@pytest.mark.slow
def test_a_run_goes_on_exactly(triplets, flags, continues_exactly, tmp_path):
    """With a teacher of its vectors."""
    teacher = tmp_path / "teacher"
    flags(do_train=True, output_dir=teacher, train_step=2)
    learned = {"teacher": teacher / "model", "gradient_accumulation_steps": 2}
    continues_exactly(flags, train_step=4, **learned)


@pytest.mark.nightly
@pytest.mark.slow
def test_two_workers_equal_one(triplets, flags, command_line, workers, tmp_path):
    """Negatives are those of the whole batch."""
    several = {"do_train": True, "train_step": 3, "albert_dropout_prob": 0}
    flags(output_dir=tmp_path / "alone", **several)
    command = command_line(distribution_strategy="multi_worker", **several)
    with workers("run_similarity.py", command) as (processes, logs):
        pass
    assert [p.returncode for p in processes] == [0, 0], logs[0].read_text()
    found, expected = (
        AlbertForTextEmbedding.from_pretrained(tmp_path / name / "model")
        for name in ("out", "alone")
    )
    expected = {n: v.numpy() for n, v in expected.official_variables().items()}
    for name, value in found.official_variables().items():
        if "key/bias" not in name:  # its gradient is rounding noise
            np.testing.assert_allclose(value, expected[name], atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.usefixtures("graphs_optimized")
@pytest.mark.parametrize("loss", ["cosent", "cosine"])
def test_scores_are_learned(write, flags, loss):
    write("train.tsv", _SCORED, scored(128, 0))
    write("dev.tsv", _SCORED, scored(32, 0))
    out = flags(loss=loss, do_train=True, do_eval=True, train_step=200, normalize=False)
    assert scores(out)["spearman"] > 0.6
    head = json.loads((out / "model" / "head.json").read_text())
    assert (head["pooling"], head["normalize"]) == ("mean", False)
    # A second run starts with the pooling of the first one's model.
    more = {"init_checkpoint": out / "model", "from_scratch": None}
    again = flags(
        **more,
        vocab_file=None,
        albert_config_file=None,
        train_step=1,
        loss=loss,
        do_train=True,
        output_dir=out / "again",
    )
    del again
    second = json.loads((out / "again" / "model" / "head.json").read_text())
    assert second == head


def test_texts_alone_need_dropout(write, flags):
    texts = [[row[0]] for row in pairs(32, 0)]
    write("train.tsv", ["text"], texts)
    write("dev.tsv", _SCORED, scored(8, 1))
    run = {"loss": "simcse", "do_train": True, "train_step": 2}
    with pytest.raises(UserError, match="albert_dropout_prob=0.1"):
        flags(**run, albert_dropout_prob=0)
    out = flags(**run, albert_dropout_prob=0.1)
    history = json.loads((out / "history.json").read_text())
    assert "spearman" in history[-1]


def test_sts_b_as_glue_publishes_it(write, flags, tmp_path):
    def glue(name, rows, header=("index", *_SCORED)):
        write("../STS-B/" + name, header, rows)

    def numbered(rows):
        return [[str(i), a, b, str(5 * float(s))] for i, (a, b, s) in enumerate(rows)]

    (tmp_path / "data").mkdir()
    (tmp_path / "STS-B").mkdir()
    glue("train.tsv", numbered(scored(16, 0)))
    glue("dev.tsv", numbered(scored(8, 1)))
    run = {"task_name": "sts-b", "data_dir": tmp_path, "do_train": True}
    out = flags(**run, loss="cosine", train_step=1)
    assert json.loads((out / "history.json").read_text())[-1]["step"] == 1
    with pytest.raises(UserError, match="has scores, of which --loss=info_nce makes"):
        flags(**run, output_dir=tmp_path / "b")
    with pytest.raises(
        UserError, match="train.tsv: the score 5.0 is not a number from 0 to 4"
    ):
        flags(**run, loss="cosent", max_score=4.0, output_dir=tmp_path / "c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"freeze_encoder": True}, "--freeze_encoder leaves nothing to train"),
        ({"dimensions": "8,0"}, "--dimensions=8,0 are no sizes"),
        ({"dimensions": "8,32"}, "dimensions=32: the model's vectors have 16 numbers"),
        ({"teacher_distance": "squared"}, "--teacher_distance=squared needs --teacher"),
        ({"symmetric": True, "loss": "cosent"}, "--symmetric is for --loss=info_nce"),
        (
            {"loss": "cosine"},
            "train.tsv has no column 'score' of scores, which --loss=",
        ),
        ({"data_dir": ""}, "--data_dir is needed"),
    ],
)
def test_flags_that_do_not_fit(triplets, flags, changes, message):
    with pytest.raises(UserError, match=message):
        flags(**{"do_train": True, "train_step": 1, **changes})
