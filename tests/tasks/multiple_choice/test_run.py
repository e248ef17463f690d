"""run_race from flags to files, on questions that a tiny model learns."""

import json

import pytest

from albert_tf.tasks.multiple_choice import run
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from tests.tasks.conftest import APPLIED
from tests.tasks.conftest import results


def predictions(out):
    lines = (out / "predictions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_jsonl, make_questions, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["eval_accuracy"] >= 0.9
    assert scores["eval_accuracy"] > scores["longest_accuracy"]
    test, found = make_questions(12, 2), predictions(out)
    right = sum(p["choice"] == q["label"] for p, q in zip(found, test, strict=True))
    assert scores["test_accuracy"] == pytest.approx(right / 12)
    for line, question in zip(found, test, strict=True):
        assert line["id"] == question["id"]
        assert line["answer"] == question["options"][line["choice"]]
        assert len(line["probabilities"]) == len(question["options"])
    page = (out / "test_errors.html").read_text()
    assert f"{12 - right} of 12 answers are wrong" in page
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["task"]["max_qa_length"] == 6
    # Scores on test have their own names, and leave those on dev of the model alone.
    flags(do_predict=True)
    assert results(out) == scores
    # A test set without labels is predicted, and not scored; rows are those of
    # training, whatever the flags say.
    write_jsonl("test.jsonl", [{**question, "label": -1} for question in test])
    model = {**APPLIED, "init_checkpoint": out / "model"}
    flags(do_predict=True, output_dir=tmp_path / "other", max_qa_length=1, **model)
    assert predictions(tmp_path / "other") == found
    assert not (tmp_path / "other" / "eval_results.txt").exists()


@pytest.fixture
def read(tmp_path, write_jsonl, make_questions):
    """Reads the task and the files of a command with flags."""
    for role in ("train", "dev", "test"):
        write_jsonl(f"{role}.jsonl", make_questions(8, 3))

    def read_folder(**changes):
        values = {"output_dir": "out", "data_dir": str(tmp_path / "data")}
        return run._read_folder(
            RaceOptions(**{"task_name": "custom", **values, **changes})
        )

    return read_folder


def test_flags_are_settings_of_the_task(read):
    task, examples = read(do_eval=True, max_qa_length=6, dropout_prob=0.25)
    assert (task.name, task.max_qa_length) == ("custom", 6)
    assert task.model_arguments()["classifier_dropout_prob"] == 0.25
    assert [*examples] == ["dev"]
    assert {*read(do_train=True, do_predict=True)[1]} == {"train", "dev", "test"}


@pytest.mark.parametrize("only", [None, "high", "middle"])
def test_levels(only, shared, read):
    """Flags choose the levels of articles that are read."""
    _, examples = read(
        task_name="race",
        data_dir=str(shared("fixtures/official_race/one_file_an_article")),
        do_eval=True,
        high_only=only == "high",
        middle_only=only == "middle",
    )
    found = [question.group for question in examples["dev"].questions]
    assert {*found} == ({only} if only else {"high", "middle"})
    assert len(found) == (15 if only else 30)
