"""Files of earlier versions, which go on, load and answer as they did there.

`golden/version_X_Y.tar.*` hold data, a pretraining run after two steps, a fine-tuning
run that was stopped after two of its four steps, and in `expected.npz` the weights and
moments that the version reached after four steps of each. `tools/golden.py` makes them.
The archive of version 0.1 was made by hand; it has neither a model of questions nor an
export.
"""

import json
import pathlib
import tarfile

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf.serving.predictor import Predictor
from tools import golden

_VERSIONS = sorted(golden.GOLDEN.glob("version_*.tar.*"))
_LAST = f"training-{golden.LAST_STEP}"


@pytest.fixture(params=_VERSIONS, ids=lambda path: path.name.partition(".")[0])
def version(request, tmp_path, monkeypatch):
    """Unpacks all of a version into the current folder."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path / request.param.name.partition(".")[0])


_TO_THE_END = f"{golden.PRETRAINING} --num_train_steps={golden.LAST_STEP}"
_RUNS = (
    ("pretrain", _TO_THE_END, "pretrained"),
    ("classify", golden.FINE_TUNING, "tuned"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "command", "flags", "folder"),
    [
        pytest.param(version, *run, marks=[pytest.mark.nightly] * ((i + j) % 2))
        for i, version in enumerate(_VERSIONS)
        for j, run in enumerate(_RUNS)
    ],
    indirect=["version"],
)
def test_its_runs_go_on(version, lines, command, flags, folder):
    golden.run(command, flags)
    assert any(line.startswith("Continuing at step 2 from ") for line in lines)
    reader = tf.train.load_checkpoint(f"{folder}/checkpoints/{_LAST}")
    with np.load("expected.npz") as arrays:
        own = {key: arrays[key] for key in arrays if key.startswith(f"{folder}:")}
    assert len(own) > 50
    for key, array in own.items():
        found = reader.get_tensor(key.partition(":")[2]).ravel()[: array.size]
        np.testing.assert_allclose(found, array.ravel(), atol=2e-5, err_msg=key)


@pytest.mark.slow
def test_its_models_and_exports_answer_alike(version):
    assert albert_tf.load_tokenizer("pretrained").vocab_size == 23
    albert_tf.AlbertForPreTraining.from_pretrained("pretrained")
    assert Predictor("tuned/model")("the good film")["label"] in ("good", "bad")
    path = pathlib.Path("answers.json")
    if path.exists():
        recorded = json.loads(path.read_text())
        found = golden.answers("questions/model", "exported")
        assert found.keys() >= recorded.keys()
        for name, values in recorded.items():
            if isinstance(np.ravel(values)[0], str):
                assert found[name].tolist() == values, name
            else:
                np.testing.assert_allclose(found[name], values, atol=2e-6, err_msg=name)


def test_this_version_is_stored():
    major, minor, *_ = albert_tf.__version__.split(".")
    names = [path.name.partition(".")[0] for path in _VERSIONS]
    assert f"version_{major}_{minor}" in names
