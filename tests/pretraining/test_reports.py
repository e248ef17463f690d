"""Messages and files of a run."""

import importlib.metadata
import json
import pathlib
import sys
import types

import keras
import pytest
import tensorflow as tf

from albert_tf.commands.compare import main as compare
from albert_tf.display import plots
from albert_tf.engine.reporting.curves import write_curves
from albert_tf.engine.reporting.reporter import versions
from tests.trackers import FakeWandb


def tags(directory):
    """The steps of each TensorBoard tag of the training."""
    found = {}
    for path in pathlib.Path(directory, "train").iterdir():
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append(event.step)
    return found


@pytest.mark.slow
@pytest.mark.pictures
def test_the_files_of_a_run(
    run, reading_only, lines, material, tmp_path, monkeypatch, capsys
):
    """Of one that was continued, with every flag of looking in its second part."""
    wandb = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    with reading_only():
        run(num_train_steps=2, eval_file=None)
    output = tmp_path / "model"
    assert "model_flop_utilisation" not in tags(output)  # nobody knows a CPU's peak
    run(
        histogram_steps=5,
        profile_steps="6:7",
        peak_teraflops=0.5,
        num_train_steps=10,
        iterations_per_loop=100,
        eval_steps=10,
        track="wandb",
    )
    found = tags(output)
    assert found["variables/trust_ratio"] == [5, 10]
    assert found["weight_norm/bert/embeddings/word_embeddings"] == [5, 10]
    assert sorted(found["loss"]) == [2, 4, 5, 6, 7, 9, 10]
    assert sorted(found["model_flop_utilisation"]) == [4, 5, 6, 7, 9, 10]
    tracked = {step for _, step, values in wandb.logged if "train/loss" in values}
    assert tracked == {4, 5, 6, 7, 9, 10}
    assert any("eval/masked_lm_accuracy" in values for *_, values in wandb.logged)
    assert wandb.begun[0]["config"]["train_batch_size"] == 16
    capsys.readouterr()
    compare(["compare", str(output)])
    assert "held out: masked_lm_accuracy" in capsys.readouterr().out
    assert any(line.startswith("training: 10/10") for line in lines)
    assert (output / "curves.png").read_bytes()[:4] == b"\x89PNG"
    info = json.loads((output / "training_info.json").read_text())
    assert info["step"] == 10
    assert info["evaluations"] == json.loads((output / "history.json").read_text())
    assert info["random_seed"] == info["options"]["random_seed"] == 12345
    data = json.loads((material / "data" / "dataset_info.json").read_text())
    assert info["data"] == {str(material / "data"): data}
    assert info["versions"]["tensorflow"] == tf.__version__


def test_any_tensorflow_package_will_do(monkeypatch):
    """On a TPU it is called tensorflow-tpu, and keras-nightly comes with the next."""
    installed = {"tensorflow-text-nightly": "2.99"}

    def from_name(name):
        if name in installed:
            return types.SimpleNamespace(version=installed[name])
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata.Distribution, "from_name", from_name)
    # Not installed, and not imported before.
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    found = versions()
    assert found["tensorflow-text"] == "2.99"
    assert (found["tensorflow"], found["keras"]) == (tf.__version__, keras.__version__)
    installed.clear()
    assert versions()["tensorflow-text"] is None


def test_without_matplotlib_a_line_says_how_to_get_it(lines, monkeypatch, tmp_path):
    monkeypatch.setattr(plots, "Figure", None)
    plots._say_how_to_get_them.cache_clear()
    for _ in range(2):
        write_curves(tmp_path, [{"step": 1, "train_seconds": 1.0, "loss": 2.0}])
    assert not list(tmp_path.iterdir())
    (line,) = (line for line in lines if "pip install 'albert-tf[plots]'" in line)
