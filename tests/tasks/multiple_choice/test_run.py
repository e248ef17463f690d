"""run_race from flags to files, on questions that a tiny model learns."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForMultipleChoice
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.multiple_choice import run
from albert_tf.tasks.multiple_choice.flags import RaceOptions
from albert_tf.tasks.registry import create_task


def results(out):
    lines = (out / "eval_results.txt").read_text().splitlines()
    return {key: float(value) for key, value in (line.split(" = ") for line in lines)}


def predictions(out):
    lines = (out / "predictions.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_learned_applied_and_found_again(flags, write_jsonl, make_questions, tmp_path):
    out = flags(do_train=True, do_eval=True, do_predict=True)
    scores = results(out)
    assert scores["eval_accuracy"] >= 0.9
    assert scores["eval_accuracy"] > scores["longest_accuracy"]
    test = make_questions(12, 2)
    found = predictions(out)
    right = sum(p["choice"] == q["label"] for p, q in zip(found, test, strict=True))
    assert scores["test_accuracy"] == pytest.approx(right / 12)
    for line, question in zip(found, test, strict=True):
        assert line["id"] == question["id"]
        assert line["answer"] == question["options"][line["choice"]]
        assert len(line["probabilities"]) == len(question["options"])
        assert sum(line["probabilities"]) == pytest.approx(1, abs=1e-5)
    page = (out / "test_errors.html").read_text()
    assert f"{12 - right} of 12 answers are wrong" in page
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["task"] == {
        "kind": "multiple_choice",
        "name": "custom",
        "metrics": ["accuracy"],
        "max_qa_length": 6,
        "dropout_prob": 0.0,
    }

    # Scores on test have their own names, and leave those on dev of the model alone.
    flags(do_predict=True)
    assert results(out) == scores

    # A test set without labels is predicted, and not scored.
    write_jsonl("test.jsonl", [{**question, "label": -1} for question in test])
    other = tmp_path / "other"
    # Rows are those of training, whatever the flags say.
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    flags(do_predict=True, output_dir=other, max_qa_length=1, **model)
    assert predictions(other) == found
    assert not (other / "eval_results.txt").exists()


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


def test_bad_questions_are_named_or_left_out(read, write_jsonl, make_questions):
    questions = make_questions(8, 3)
    questions[2]["label"] = 7
    path = write_jsonl("train.jsonl", questions)
    message = f"{path}, line 3: the label is 7, expected the text of an option"
    with pytest.raises(UserError, match=message):
        read(do_train=True)
    _, examples = read(do_train=True, skip_bad_rows=True)
    assert (len(examples["train"]), examples["train"].num_skipped) == (7, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_dir": "missing"}, "--data_dir=missing has no train.jsonl; name the"),
        ({"task_name": "c3"}, "has no c3-d-train.json or c3-m-train.json; name"),
    ],
)
def test_files_that_are_missing(read, changes, message):
    with pytest.raises(UserError, match=message):
        read(do_train=True, **changes)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["huggingface", pytest.param("tf1", marks=pytest.mark.nightly)]
)
def test_a_model_of_another_program_is_applied(
    form, flags, words, tiny_config, tmp_path
):
    config = tiny_config(vocab_size=words.vocab_size, initializer_range=0.5)
    task = create_task("multiple_choice", "custom", max_qa_length=6)
    info = {"task": task.to_dict(), "max_seq_length": 16}
    model, found = AlbertForMultipleChoice(config), {}
    model.save_pretrained(tmp_path / "ours", words, info)
    model.save_pretrained(tmp_path / "theirs", words, format=form)
    applied = {"from_scratch": None, "albert_config_file": None, "vocab_file": None}
    for name in ("ours", "theirs"):
        changes = {"init_checkpoint": tmp_path / name, "output_dir": tmp_path / "out"}
        flags(do_predict=True, **applied, **changes)
        found[name] = [line["choice"] for line in predictions(tmp_path / "out")]
    assert found["theirs"] == found["ours"]
    # A classifier of three labels has variables of the same names.
    other = AlbertForSequenceClassification(config, num_labels=3)
    other.save_pretrained(tmp_path / "other", words, format=form)
    with pytest.raises(UserError, match="for single_label|output_weights is missing"):
        flags(do_predict=True, **applied, init_checkpoint=tmp_path / "other")
