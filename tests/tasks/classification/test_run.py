"""run_classifier from flags to files, on a task that a tiny model learns."""

import json
import math
import shutil

import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.serving import export as serving_export
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.classification import run
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import FINISHED
from tests.tasks.conftest import results


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
def test_train_evaluate_predict_and_run_again(flags, capsys, monkeypatch):
    run = {"do_train": True, "do_eval": True, "do_predict": True, "random_seed": 2}
    run |= {"train_step": 120, "save_checkpoints_steps": 120}
    out = flags(**run)
    scores = results(out)
    assert scores["eval_accuracy"] == scores["test_accuracy"] == 1.0
    assert scores["majority_accuracy"] < 0.8
    assert scores["last_step"] == 120
    assert len((out / "test_results.tsv").read_text().splitlines()) == 21
    submission = (out / "submit_results.tsv").read_text().splitlines()
    table = (out.parent / "data" / "test.tsv").read_text().splitlines()
    expected = [f"{i}\t{row.split()[0]}" for i, row in enumerate(table[1:])]
    assert submission == ["index\tprediction", *expected]
    assert (out / "dev_errors.tsv").read_text().count("\n") == 1
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert "labels" not in info["task"]  # they are in head.json
    assert info["versions"]["tensorflow"] == tf.__version__

    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.labels == ("no", "yes")
    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    flags(**run)  # finished: nothing to train
    assert {path: path.stat().st_mtime_ns for path in out.glob("model/*")} == before
    assert results(out) == scores

    capsys.readouterr()
    lines = out.parent / "lines.txt"
    lines.write_text("the film was good\nit is bad\n")
    flags(do_predict=True, task_name=None, data_dir=None, input_file=lines)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("yes\t0.9")
    assert printed[0].endswith("\tthe film was good")
    assert printed[1].startswith("no\t0.9")
    assert (out / "predictions.tsv").read_text().count("\n") == 2

    exported = []
    monkeypatch.setattr(serving_export, "export", exported.append)
    flags(export_dir=out.parent / "served")
    (asked,) = exported
    assert asked.model_dir == str(out / "model")
    assert asked.export_dir == str(out.parent / "served")


@pytest.mark.slow
def test_a_best_model_that_is_gone_is_missed(flags, finished):
    shutil.rmtree(finished / "model")
    for asked in ({"do_train": True}, {**FINISHED, "do_eval": True}):
        with pytest.raises(UserError, match="out/model, the best model of .*, is gone"):
            flags(**asked)


@pytest.mark.slow
def test_the_same_command_finishes_a_saving_that_was_interrupted(flags, finished):
    model = finished / "model"
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    (model / ".ready").mkdir()
    for name in ("head.json", "model.weights.h5", "SHA256SUMS"):
        (model / name).rename(model / ".ready" / name)
    with pytest.raises(UserError, match="out/model holds files of a saving that was"):
        flags(do_eval=True)
    assert not (model / "head.json").exists()
    flags(**FINISHED, do_eval=True)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


@pytest.mark.slow
def test_several_runs_report_median_and_spread(flags, monkeypatch):
    """The spread of runs with NaN is NaN."""
    scores = iter([(1.0, 2.0), (float("nan"), 1.0), (0.0, 4.0)])

    def scored(options):
        pearson, loss = next(scores)
        return {"pearson": pearson, "loss": loss, "seed": options.random_seed}

    monkeypatch.setattr(run, "train_and_apply", scored)
    last_seed = 2**32 - 1
    changes = {"random_seed": last_seed, "num_runs": 3, "do_train": True}
    out = flags(do_eval=True, **changes)
    runs = json.loads((out / "runs.json").read_text())
    assert [one["random_seed"] for one in runs] == [last_seed, 0, 1]
    found, kinds = results(out), ("min", "median", "max")
    assert all(math.isnan(found[f"pearson_{kind}"]) for kind in kinds)
    assert [found[f"loss_{kind}"] for kind in kinds] == [1, 2, 4]
    assert [found[f"seed_{kind}"] for kind in kinds] == [0, 1, last_seed]
    with pytest.raises(UserError, match="--num_runs needs --do_train and --do_eval"):
        flags(**changes)


@pytest.mark.slow
def test_a_pair_of_texts_is_predicted(flags, tmp_path):
    task = create_task("regression", "custom", pair=True)
    start = _saved(tmp_path, task)
    texts = ["good film", "bad"]
    pair = dict(zip(("input_text", "input_text_pair"), texts, strict=True))
    out = flags(do_predict=True, init_checkpoint=start, **pair)
    number, *found = (out / "predictions.tsv").read_text().strip().split("\t")
    assert found == texts
    model = AlbertForSequenceClassification.from_pretrained(start)
    expected = model(load_tokenizer(start)(*([text] for text in texts)))
    assert float(number) == pytest.approx(float(expected[0, 0]), abs=1e-4)


def _saved(tmp_path, task):
    """Saves a random model of a task; returns its folder."""
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    model = task.model_class(config, **task.model_arguments())
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    model.save_pretrained(tmp_path / "tuned", tokenizer, {"task": task.to_dict()})
    return tmp_path / "tuned"


def tables_read(monkeypatch, flags, **changes):
    """The task, and the tables, that the command would train with or apply."""
    found = []
    monkeypatch.setattr(run, "run_task", lambda *given: found.append(given) or {})
    flags(**changes)
    (_, task, examples, *_), *_ = found
    return task, examples


def test_an_evaluation_scores_the_test_table_too(flags, monkeypatch, tmp_path):
    _, examples = tables_read(monkeypatch, flags, do_train=True, do_eval=True)
    assert list(examples) == ["train", "dev", "test"]
    path = tmp_path / "data" / "test.tsv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(["sentence", *(row.split("\t")[1] for row in lines[1:])]))
    _, examples = tables_read(monkeypatch, flags, do_train=True, do_eval=True)
    assert list(examples) == ["train", "dev"]
    _, examples = tables_read(monkeypatch, flags, do_train=True, do_predict=True)
    assert (list(examples), examples["test"].labels) == (["train", "dev", "test"], None)


@pytest.mark.slow
def test_a_model_is_applied_where_there_is_no_training_table(
    flags, monkeypatch, tmp_path
):
    task = create_task("multi_label", "custom", labels=("b", "a"))
    data = tmp_path / "new"
    data.mkdir()
    (data / "test.csv").write_text("sentence\ngood film\nbad\n")
    changes = {"data_dir": data, "init_checkpoint": _saved(tmp_path, task)}
    with pytest.raises(UserError, match="has no dev.tsv"):
        flags(do_predict=True, do_eval=True, **changes)
    (data / "dev.csv").write_text("sentence,label\ngood,a\nbad,a|b\n")
    with pytest.raises(UserError, match="has no train.tsv"):
        flags(do_train=True, **changes)
    out = flags(do_eval=True, do_predict=True, **changes)
    lines = (out / "submit_results.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["index", "0", "1"]
    assert "f1" in results(out)
    flags(do_predict=True, input_text="good", **{**changes, "data_dir": None})
    [own] = Predictor(changes["init_checkpoint"])(["good"])
    written = (out / "predictions.tsv").read_text()
    assert written == "|".join(own["labels"]) + "\tgood\n"
    told, examples = tables_read(monkeypatch, flags, do_eval=True, **changes)
    assert told.labels == ("b", "a")
    assert examples["dev"].labels.tolist() == [[0, 1], [1, 1]]
    with pytest.raises(UserError, match="single texts, but .* --text_pair_column"):
        monkeypatch.undo()
        flags(do_eval=True, text_pair_column="sentence", **changes)


@pytest.mark.parametrize("pair", [True, False])
def test_single_texts_and_pairs_are_not_confused(pair):
    own, asked = (
        create_task("single_label", name, labels=("no", "yes"), pair=is_pair)
        for name, is_pair in (("own", pair), ("asked", not pair))
    )
    own.check_fits("tuned", own)
    message = "pairs of texts, but" if pair else "single texts, but"
    with pytest.raises(UserError, match=f"tuned takes {message} the task asked has "):
        own.check_fits("tuned", asked)


@pytest.mark.slow
def test_the_diagnostic_set(flags, tmp_path):
    (tmp_path / "AX").mkdir()
    task = glue_task("ax")
    pair = "\n".join(["sentence1\tsentence2", *["good\tfilm"] * 3]) + "\n"
    (tmp_path / "AX" / "diagnostic.tsv").write_text(pair)
    asked = {"task_name": "ax", "data_dir": tmp_path}
    with pytest.raises(UserError, match="has no training set"):
        flags(do_train=True, **asked)
    asked |= {"init_checkpoint": _saved(tmp_path, task), "do_eval": True}
    with pytest.raises(UserError, match="no table with labels .* diagnostic-full.tsv"):
        flags(**asked)
    rows = [f"good\tfilm\t{label}" for label in task.labels]
    table = "\n".join(["Premise\tHypothesis\tLabel", *rows]) + "\n"
    (tmp_path / "AX" / "diagnostic-full.tsv").write_text(table)
    out = flags(**asked, do_predict=True)
    assert {"full_matthew_corr", "full_accuracy"} <= results(out).keys()
    lines = (out / "AX.tsv").read_text().splitlines()
    index, predicted = zip(*(line.split("\t") for line in lines), strict=True)
    assert index == ("index", "0", "1", "2")
    assert {*predicted[1:]} <= {*task.labels}
