"""run_race from flags to files, on questions that a tiny model learns."""

import json

import pytest

from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForMultipleChoice
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.multiple_choice import run
from albert_tf.tasks.multiple_choice.flags import RaceOptions


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

    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    flags(do_train=True, do_eval=True, do_predict=True)  # finished: nothing to train
    assert {path: path.stat().st_mtime_ns for path in out.glob("model/*")} == before
    assert results(out) == scores

    # Scores on test have their own names, and leave those on dev of the model alone.
    flags(do_predict=True)
    assert results(out) == scores
    model = {"init_checkpoint": out / "model", "from_scratch": None}
    flags(do_predict=True, output_dir=tmp_path / "applied", **model)
    alone = results(tmp_path / "applied")
    assert alone["test_accuracy"] == scores["test_accuracy"]
    assert not {"eval_accuracy", "eval_loss"} & alone.keys()

    # A test set without labels is predicted, and not scored.
    write_jsonl("test.jsonl", [{**question, "label": -1} for question in test])
    other = tmp_path / "other"
    # Rows are those of training, whatever the flags say.
    flags(do_predict=True, output_dir=other, max_qa_length=1, **model)
    assert predictions(other) == found
    assert not (other / "eval_results.txt").exists()


@pytest.mark.slow
@pytest.mark.nightly
def test_interrupted_training_goes_on(flags, continues_exactly):
    continues_exactly(flags, train_step=4)
    with pytest.raises(UserError, match="max_qa_length"):
        flags(do_train=True, save_checkpoints_steps=2, train_step=4, max_qa_length=5)


def test_dropout_is_that_of_the_flag_and_training_alone_scores_nothing(flags):
    out = flags(do_train=True, train_step=1, dropout_prob=0.25)
    model = AlbertForMultipleChoice.from_pretrained(out / "model")
    assert model.classifier_dropout_prob == 0.25
    assert not (out / "eval_results.txt").exists()


def test_bad_questions_are_named_or_left_out(flags, write_jsonl, make_questions):
    questions = make_questions(8, 3)
    questions[2]["label"] = 7
    path = write_jsonl("train.jsonl", questions)
    changes = {"do_train": True, "train_step": 1, "train_batch_size": 7}
    message = f"{path}, line 3: the label is 7, expected the text of an option"
    with pytest.raises(UserError, match=message):
        flags(**changes)
    flags(**changes, skip_bad_rows=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_dir": "missing"}, "--data_dir=missing has no train.jsonl; name the"),
        ({"task_name": "c3"}, "has no c3-d-train.json or c3-m-train.json; name"),
        ({"task_name": "race"}, "has no RACE/train/middle and RACE/train/high; name"),
        ({"high_only": True, "middle_only": True}, "exclude each other"),
        ({"middle_only": True}, "--middle_only is for --task_name=race"),
        (
            {"max_qa_length": 13},
            "max_seq_length=16 leaves no room .*max_qa_length=13",
        ),
    ],
)
def test_flags_that_do_not_fit(flags, changes, message):
    with pytest.raises(UserError, match=message) as error:
        flags(**{"do_train": True, **changes})
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_only_what_is_needed_is_read(flags, tmp_path):
    (tmp_path / "data" / "test.jsonl").unlink()
    out = flags(do_train=True, do_eval=True, train_step=1)
    (tmp_path / "data" / "train.jsonl").unlink()
    before = results(out)["eval_accuracy"]
    flags(do_eval=True)
    assert results(out)["eval_accuracy"] == before
    with pytest.raises(UserError, match="has no test.jsonl"):
        flags(do_predict=True)


@pytest.mark.parametrize("only", [None, "high", "middle"])
def test_levels(only, shared):
    """Flags choose the levels of articles that are read."""
    options = RaceOptions(
        output_dir="out",
        data_dir=str(shared("fixtures/official_race/one_file_an_article")),
        do_eval=True,
        high_only=only == "high",
        middle_only=only == "middle",
    )
    _, examples = run._read_folder(options)
    found = [question.group for question in examples["dev"].questions]
    assert {*found} == ({only} if only else {"high", "middle"})
    assert len(found) == (15 if only else 30)


@pytest.mark.slow
def test_a_model_of_another_program_is_applied(flags, words, tmp_path):
    out = flags(do_train=True, do_predict=True)
    expected = [line["choice"] for line in predictions(out)]
    model = AlbertForMultipleChoice.from_pretrained(out / "model")
    # A classifier of three labels has variables of the same names.
    classifier = AlbertForSequenceClassification(model.config, num_labels=3)
    for form in ("huggingface", "tf1"):
        folder = tmp_path / form
        theirs = {"init_checkpoint": folder, "from_scratch": None}
        theirs |= {"albert_config_file": None, "vocab_file": None, "do_predict": True}
        model.save_pretrained(folder, words, format=form)
        flags(output_dir=tmp_path / "other", **theirs)
        found = [line["choice"] for line in predictions(tmp_path / "other")]
        assert found == expected
        classifier.save_pretrained(folder, words, format=form)
        message = "fine-tuned for single_label|output_weights is missing"
        with pytest.raises(UserError, match=message):
            flags(output_dir=tmp_path / "third", **theirs)
