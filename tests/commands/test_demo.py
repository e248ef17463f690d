"""make demo: steps are kept, the table shows the measurements."""

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


def test_the_two_fine_tunings_differ_in_their_start_alone(project, tmp_path):
    commands = dict(demo_steps(tmp_path, project / "configs" / "demo.json"))
    assert "--optimizer=muon" in commands["pretrain"]
    assert f"--init_checkpoint={tmp_path / 'pretrained'}" in commands["fine_tune"]
    differing = set(commands["fine_tune"]) ^ set(commands["from_scratch"])
    names = {flag.split("=")[0].removeprefix("--") for flag in differing}
    starts = {"init_checkpoint", "from_scratch", "albert_config_file", "spm_model_file"}
    assert names == {"output_dir", *starts}


@pytest.fixture
def fake_demo(tmp_path, monkeypatch):
    """Two steps, of which the second fails until the file `ready` is there."""
    log, ready = tmp_path / "log", tmp_path / "ready"
    write = f"open({str(log)!r}, 'a').write('%s ')"
    fail = f"assert __import__('os').path.exists({str(ready)!r})"
    programs = {"one": write % "one", "two": f"{write % 'two'}; {fail}"}

    def demo_steps(output_dir, recipe):
        told = pathlib.Path(recipe).read_text()
        return [(name, ["-c", code, told]) for name, code in programs.items()]

    monkeypatch.setattr(run_demo, "demo_steps", demo_steps)
    monkeypatch.setattr(table, "demo_table", lambda *_: f"| {log.read_text()}|\n")
    monkeypatch.setattr(table, "draw_accuracy", lambda output_dir: None)
    return log, ready


def test_finished_steps_of_a_recipe_are_kept(fake_demo, project, tmp_path, capsys):
    log, ready = fake_demo
    recipe = json.loads((project / "configs" / "demo.json").read_text())
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(recipe))
    options = run_demo.DemoOptions(str(tmp_path / "out"), str(path))
    with pytest.raises(UserError, match="step 'two' ended with status 1"):
        run_demo.run_demo(options)
    ready.touch()
    run_demo.run_demo(options)
    run_demo.run_demo(options)
    assert log.read_text() == "one two two "
    assert capsys.readouterr().out.count("| one two two |") == 2
    recipe["pretrain"]["learning_rate"] = 0.123
    path.write_text(json.dumps(recipe))
    with pytest.raises(UserError, match="out holds what another recipe than .*mine"):
        run_demo.run_demo(options)
    assert log.read_text() == "one two two "


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
