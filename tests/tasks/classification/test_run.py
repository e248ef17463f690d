"""run_classifier from flags to files, on a task that a tiny model learns."""

import collections
import json
import math
import os
import shutil

import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.display import plots
from albert_tf.errors import UserError
from albert_tf.io import storage
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.classification import run
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer


def _results(out):
    lines = (out / "eval_results.txt").read_text().splitlines()
    return {key: float(value) for key, value in (line.split(" = ") for line in lines)}


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_converted")
@pytest.mark.pictures
def test_train_evaluate_predict_and_run_again(flags, capsys):
    run = {"do_train": True, "do_eval": True, "do_predict": True, "random_seed": 2}
    run |= {"train_step": 120, "save_checkpoints_steps": 120}
    out = flags(**run)
    results = _results(out)
    assert results["eval_accuracy"] == 1.0
    assert results["test_accuracy"] == 1.0
    assert results["majority_accuracy"] < 0.8
    assert results["last_step"] == 120
    assert len((out / "test_results.tsv").read_text().splitlines()) == 21
    submission = (out / "submit_results.tsv").read_text().splitlines()
    table = (out.parent / "data" / "test.tsv").read_text().splitlines()
    expected = [f"{i}\t{row.split()[0]}" for i, row in enumerate(table[1:])]
    assert submission == ["index\tprediction", *expected]
    assert (out / "dev_errors.tsv").read_text().count("\n") == 1
    if plots.Figure is not None:
        pictures = {path.name for path in out.glob("*.png")}
        assert pictures == {"curves.png", "dev_confusion.png", "test_confusion.png"}
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert "labels" not in info["task"]  # they are in head.json
    assert info["versions"]["tensorflow"] == tf.__version__

    model = AlbertForSequenceClassification.from_pretrained(out / "model")
    assert model.labels == ("no", "yes")
    before = {path: path.stat().st_mtime_ns for path in out.glob("model/*")}
    flags(**run)  # finished: nothing to train
    assert {path: path.stat().st_mtime_ns for path in out.glob("model/*")} == before
    assert _results(out) == results

    capsys.readouterr()
    lines = out.parent / "lines.txt"
    lines.write_text("the film was good\nit is bad\n")
    for text in ({"input_text": "the film was good"}, {"input_file": lines}):
        flags(do_predict=True, task_name=None, data_dir=None, **text)
        printed = capsys.readouterr().out.splitlines()
        assert printed[0].startswith("yes\t0.9")
        assert printed[0].endswith("\tthe film was good")
        assert printed[1:] == [] or printed[1].startswith("no\t0.9")
    assert (out / "predictions.tsv").read_text().count("\n") == 2

    flags(export_dir=out.parent / "served")
    assert (out.parent / "served" / "1" / "saved_model.pb").exists()


@pytest.mark.slow
def test_best_checkpoint_is_kept_not_the_last(flags):
    out = flags(do_train=True, train_step=40, save_checkpoints_steps=10)
    history = json.loads((out / "history.json").read_text())
    assert [entry["step"] for entry in history] == [10, 20, 30, 40]
    best = max(history, key=lambda entry: (entry["accuracy"], -entry["loss"]))
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert (info["step"], info["dev"]["accuracy"]) == (best["step"], best["accuracy"])


def test_a_best_model_that_is_gone_is_missed(flags, monkeypatch, tmp_path):
    gone = "out/model, the best model of this run, is gone; put it back"
    run = {"do_train": True, "train_step": 4, "save_checkpoints_steps": 4}
    model_class = AlbertForSequenceClassification
    with monkeypatch.context() as patch, pytest.raises(UserError, match=gone):
        patch.setattr(model_class, "save_pretrained", lambda *arguments: None)
        flags(**run)
    with pytest.raises(UserError, match=gone):
        flags(**run, do_eval=True)
    shutil.rmtree(tmp_path / "out" / "checkpoints")
    out = flags(**run)  # from the beginning, with a model of its own
    assert (out / "model" / "training_info.json").exists()


@pytest.mark.slow
def test_the_same_command_finishes_a_saving_that_was_interrupted(flags):
    run = {"do_train": True, "train_step": 4, "save_checkpoints_steps": 4}
    model = flags(**run) / "model"
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    (model / ".ready").mkdir()
    for name in ("head.json", "model.weights.h5", "SHA256SUMS"):
        (model / name).rename(model / ".ready" / name)
    with pytest.raises(UserError, match="out/model holds files of a saving that was"):
        flags(do_eval=True)
    assert not (model / "head.json").exists()
    flags(**run, do_eval=True)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_early_stopping(flags):
    changes = {"train_step": 60, "save_checkpoints_steps": 5, "learning_rate": 0}
    out = flags(do_train=True, early_stopping_patience=2, **changes)
    history = json.loads((out / "history.json").read_text())
    # The third evaluation is the second that brought nothing better.
    assert [entry["step"] for entry in history] == [5, 10, 15]
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["step"] == min(history, key=lambda entry: entry["loss"])["step"]


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
    results, kinds = _results(out), ("min", "median", "max")
    assert all(math.isnan(results[f"pearson_{kind}"]) for kind in kinds)
    assert [results[f"loss_{kind}"] for kind in kinds] == [1, 2, 4]
    assert [results[f"seed_{kind}"] for kind in kinds] == [0, 1, last_seed]
    with pytest.raises(UserError, match="--num_runs needs --do_train and --do_eval"):
        flags(**changes)


def test_diagnostic_set_is_predicted_by_an_mnli_model(flags, tmp_path):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    labels = ("contradiction", "entailment", "neutral")
    task = create_task("single_label", "mnli", labels=labels, pair=True)
    info = {"task": task.to_dict(), "max_seq_length": 16, "step": 1}
    AlbertForSequenceClassification(config, 3).save_pretrained(
        tmp_path / "mnli", load_tokenizer(tmp_path / "vocab.txt"), info
    )
    (tmp_path / "AX").mkdir()
    rows = ["index\tsentence1\tsentence2", "0\tgood film\ta film", "1\tbad\tgood"]
    (tmp_path / "AX" / "diagnostic.tsv").write_text("\n".join(rows) + "\n")
    changes = {"data_dir": tmp_path, "init_checkpoint": tmp_path / "mnli"}
    out = flags(task_name="ax", do_predict=True, **changes)
    lines = [line.split("\t") for line in (out / "AX.tsv").read_text().splitlines()]
    assert [index for index, _ in lines] == ["index", "0", "1"]
    assert {prediction for _, prediction in lines[1:]} <= set(labels)
    with pytest.raises(UserError, match="no table with labels .* diagnostic-full.tsv"):
        flags(task_name="ax", do_eval=True, **changes)
    with pytest.raises(UserError, match="has no training set"):
        flags(task_name="ax", do_train=True, **changes)
    with pytest.raises(
        UserError, match="the label 'no' is unknown .*'contradiction', "
    ):
        flags(do_eval=True, init_checkpoint=tmp_path / "mnli")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        ("regression", ("0.5", "2"), {"pearson", "spearman", "MSE"}),
        ("multi_label", ("good|film", ""), {"f1", "eval_accuracy"}),
    ],
)
def test_other_kinds_of_label_on_pairs(flags, tmp_path, kind, labels, expected):
    for name in ("train", "dev", "test"):
        rows = [f"{labels[i % 2]}\tgood film\t{'very ' * i}bad" for i in range(8)]
        table = "\n".join(["label\tsentence\tother", *rows]) + "\n"
        (tmp_path / "data" / f"{name}.tsv").write_text(table)
    changes = {"train_step": 2, "train_batch_size": 4, "text_pair_column": "other"}
    out = flags(
        do_train=True, do_eval=True, do_predict=True, label_kind=kind, **changes
    )
    assert expected < set(_results(out))
    columns = (out / "test_results.tsv").read_text().splitlines()[0].split("\t")
    assert columns == ["row", "score"] if kind == "regression" else len(columns) == 3
    flags(
        do_predict=True,
        task_name=None,
        input_text="good film",
        input_text_pair="bad",
        **changes,
    )
    assert (out / "predictions.tsv").read_text().endswith("\tgood film\tbad\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "labels"),
    [("single_label", ("no", "yes")), ("multi_label", ("a", "b")), ("regression", ())],
)
def test_a_model_is_applied_where_there_is_no_training_table(
    flags, tmp_path, kind, labels
):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    task = create_task(kind, "custom", labels=labels)
    model = AlbertForSequenceClassification(config, task.num_outputs)
    tokenizer = load_tokenizer(tmp_path / "vocab.txt")
    model.save_pretrained(tmp_path / "tuned", tokenizer, {"task": task.to_dict()})
    data = tmp_path / "new"
    data.mkdir()
    (data / "test.csv").write_text("sentence\ngood film\nbad\n")
    changes = {"data_dir": data, "init_checkpoint": tmp_path / "tuned"}
    out = flags(do_predict=True, **changes)
    lines = (out / "submit_results.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["index", "0", "1"]
    with pytest.raises(UserError, match="has no dev.tsv"):
        flags(do_predict=True, do_eval=True, **changes)
    label = "0.5" if kind == "regression" else labels[1]
    (data / "dev.csv").write_text(f"sentence,label\ngood,{label}\nbad,{label}\n")
    out = flags(do_eval=True, **changes)
    assert task.metrics[-1].replace("accuracy", "eval_accuracy") in _results(out)
    with pytest.raises(UserError, match="has no train.tsv"):
        flags(do_train=True, **changes)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (True, "takes pairs of texts, but the task custom has single texts; .* give "),
        (False, "takes single texts, but the task custom has pairs .* leave out "),
    ],
)
def test_single_texts_and_pairs_are_not_confused(flags, tmp_path, pair, message):
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    task = create_task("single_label", "custom", labels=("no", "yes"), pair=pair)
    AlbertForSequenceClassification(config, 2).save_pretrained(
        tmp_path / "tuned",
        load_tokenizer(tmp_path / "vocab.txt"),
        {"task": task.to_dict()},
    )
    column = None if pair else "sentence"
    for what in ({"do_eval": True}, {"do_predict": True}):
        with pytest.raises(UserError, match=f"{message}--text_pair_column"):
            flags(init_checkpoint=tmp_path / "tuned", text_pair_column=column, **what)


def test_evaluation_without_a_model_is_an_error(flags):
    with pytest.raises(UserError, match="no fine-tuned model in"):
        flags(do_eval=True)


def test_an_evaluation_reads_each_file_of_a_model_once(flags, tmp_path, monkeypatch):
    vocab = tmp_path / "vocab.txt"
    tokenizer = load_tokenizer(vocab)
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    model = AlbertForSequenceClassification(config, labels=["no", "yes"])
    model.save_pretrained(tmp_path / "tuned", tokenizer)
    read, read_bytes = collections.Counter(), storage.read_bytes

    def counted(path):
        read[os.path.basename(path)] += 1
        return read_bytes(path)

    monkeypatch.setattr(storage, "read_bytes", counted)
    asked = {"from_scratch": None, "albert_config_file": None, "vocab_file": None}
    flags(**asked, init_checkpoint=tmp_path / "tuned", do_eval=True)
    names = {path.name for path in (tmp_path / "tuned").iterdir()}
    names -= {"SHA256SUMS", "model.weights.h5"}  # the latter is read from the disk
    assert {name: read[name] for name in names} == dict.fromkeys(names, 1)


@pytest.fixture
def tuned(tmp_path, tiny_config):
    """The folder of a classifier that no checksum protects."""
    model = AlbertForSequenceClassification(tiny_config(), num_labels=2)
    model.save_pretrained(tmp_path / "tuned")
    (tmp_path / "tuned" / "SHA256SUMS").unlink()
    return tmp_path / "tuned"


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ({"depth": 1}, "depth"),
        ({"kind": "ranking"}, "ranking"),
    ],
)
def test_a_task_of_another_version_is_an_error(flags, tuned, task, problem):
    known = create_task("single_label", "custom", labels=("no", "yes")).to_dict()
    (tuned / "training_info.json").write_text(json.dumps({"task": known | task}))
    message = f"does not know the task .* training info of .*tuned .*{problem}"
    with pytest.raises(UserError, match=message):
        flags(init_checkpoint=tuned, do_predict=True)


def test_a_task_that_is_none_is_an_error(flags, tuned):
    (tuned / "training_info.json").write_text('{"task": 3}')
    with pytest.raises(UserError, match="training_info.json sets task to 3, expected"):
        flags(init_checkpoint=tuned, do_predict=True)
