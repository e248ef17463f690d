"""make demo: steps are kept, the table shows the measurements."""

import dataclasses
import json
import math
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import run_demo
from albert_tf.errors import UserError
from data_pipeline.records import examples
from tools.demo import table
from tools.demo.steps import demo_steps


def test_the_recipe_gives_every_command_its_flags(project, tmp_path):
    steps = demo_steps(tmp_path, project / "configs" / "demo.json")
    commands = dict(steps)
    assert list(commands) == [
        "sample_corpus",
        "train_tokenizer",
        "create_pretraining_data",
        "pretrain",
        "fine_tune",
        "from_scratch",
        "export",
        "predict",
    ]
    assert "--vocab_size=8000" in commands["train_tokenizer"]
    assert "--optimizer=muon" in commands["pretrain"]
    assert f"--init_checkpoint={tmp_path / 'pretrained'}" in commands["fine_tune"]
    # The same run but for where it starts and what it writes.
    differing = set(commands["fine_tune"]) ^ set(commands["from_scratch"])
    names = {flag.split("=")[0] for flag in differing}
    assert names == {
        "--output_dir",
        "--init_checkpoint",
        "--from_scratch",
        "--albert_config_file",
        "--spm_model_file",
    }


@pytest.fixture
def fake_demo(tmp_path, monkeypatch):
    """Two steps, of which the second fails until the file `ready` is there."""
    log, ready = tmp_path / "log", tmp_path / "ready"
    write = f"open({str(log)!r}, 'a').write('%s ')"
    fail = f"assert __import__('os').path.exists({str(ready)!r})"
    steps = [
        ("one", ["-c", write % "one"]),
        ("two", ["-c", f"{write % 'two'}; {fail}"]),
    ]
    monkeypatch.setattr(run_demo, "demo_steps", lambda output_dir, recipe: steps)
    monkeypatch.setattr(
        "tools.demo.table.demo_table", lambda *_: f"| {log.read_text()}|\n"
    )
    monkeypatch.setattr("tools.demo.table.draw_accuracy", lambda output_dir: None)
    return log, ready


def test_finished_steps_are_kept_and_the_table_stays(fake_demo, tmp_path, capsys):
    log, ready = fake_demo
    options = run_demo.DemoOptions(str(tmp_path / "out"))
    with pytest.raises(UserError, match="step 'two' ended with status 1"):
        run_demo.run_demo(options)
    ready.touch()
    run_demo.run_demo(options)
    run_demo.run_demo(options)
    assert log.read_text() == "one two two "
    printed = capsys.readouterr().out
    assert printed.count("| one two two |") == 2
    states = [
        json.loads((tmp_path / "out" / "steps" / f"{name}.json").read_text())
        for name in ("one", "two")
    ]
    assert all(state["finished"] and state["seconds"] > 0 for state in states)


def test_finished_steps_of_another_recipe_are_no_result(project, tmp_path, monkeypatch):
    recipe = json.loads((project / "configs" / "demo.json").read_text())
    options = run_demo.DemoOptions(str(tmp_path / "out"), str(tmp_path / "mine.json"))
    path = pathlib.Path(options.recipe)
    path.write_text(json.dumps(recipe))
    done = []
    monkeypatch.setattr(run_demo, "_run_step", lambda *step: done.append(step))
    monkeypatch.setattr("tools.demo.table.demo_table", lambda *of: "a table")
    monkeypatch.setattr("tools.demo.table.draw_accuracy", lambda output_dir: None)
    run_demo.run_demo(options)
    steps = len(done)
    (tmp_path / "out").rename(tmp_path / "moved")
    options = dataclasses.replace(options, output_dir=str(tmp_path / "moved"))
    run_demo.run_demo(options)
    assert len(done) == 2 * steps
    recipe["pretrain"]["learning_rate"] = 0.123
    path.write_text(json.dumps(recipe))
    with pytest.raises(UserError, match="moved holds what another recipe than .*mine"):
        run_demo.run_demo(options)
    assert len(done) == 2 * steps


def test_unigram_entropy_is_that_of_the_text_before_masking(tmp_path):
    """[CLS] 7 8 [SEP] 7 9 [SEP], of which 8 and the second 7 are masked."""
    features = {
        "input_ids": np.array([[2, 7, 4, 3, 4, 9, 3, 0]]),
        "input_mask": np.array([[1, 1, 1, 1, 1, 1, 1, 0]]),
        "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 1, 0]]),
        "masked_lm_positions": np.array([[2, 4, 0]]),
        "masked_lm_ids": np.array([[8, 7, 0]]),
        "masked_lm_weights": np.array([[1, 1, 0]], np.float32),
        "next_sentence_labels": np.array([[0]]),
    }
    path = str(tmp_path / "one.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(examples.serialize(features)[0])
    entropy = table.unigram_entropy([path], 8, 3)
    assert entropy == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(4))


@pytest.mark.pictures
def test_the_picture_compares_with_the_majority_and_with_no_pretraining(
    tmp_path, monkeypatch
):
    from matplotlib import figure as figures

    for folder, accuracy in (("classifier", 0.9), ("scratch", 0.6)):
        scores = {"accuracy": accuracy, "majority_accuracy": 0.3}
        history = [{"step": step, "train_seconds": 0.0, **scores} for step in (5, 9)]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "history.json").write_text(json.dumps(history))
    table.draw_accuracy(tmp_path)
    assert (tmp_path / "accuracy.png").stat().st_size > 5000
    figure = figures.Figure()
    monkeypatch.setattr(table, "write_plot", lambda path, draw: draw(figure, []))
    table.draw_accuracy(tmp_path)
    (axes,) = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert drawn == {
        "pretrained": [0.9, 0.9],
        "from scratch": [0.6, 0.6],
        "majority": [0.3, 0.3],
    }
