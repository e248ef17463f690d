"""verify on recordings of multiple choice."""

import json
import shutil

import numpy as np
import pytest

from tests.tools.verify.squad_recording import failed
from tools import verify


@pytest.fixture
def recorded(shared, tmp_path):
    """A copy of the official recordings, to be changed."""
    folder = tmp_path / "recorded"
    shutil.copytree(shared("fixtures/official_race"), folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.copy(shared("data/vocab/albert_en_30k") / "30k-clean.model", folder)
    for role in ("train", "dev"):
        for suffix in ("json", "npz"):
            (folder / f"features_{role}.{suffix}").unlink()
    shutil.rmtree(folder / "all_txt")
    return folder


_FEATURES = "one_file_an_article/features_test"


@pytest.mark.slow
def test_official_recordings(shared, capsys):
    verify.main(["", str(shared("fixtures/official_race"))])
    assert "64 of 64 arrays agree" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["input_ids", "label_ids"])
def test_other_features_fail(name, recorded):
    assert failed(recorded) == []
    arrays = dict(np.load(recorded / "features_test.npz"))
    arrays[name].reshape(-1)[3] += 1
    np.savez(recorded / "features_test.npz", **arrays)
    assert failed(recorded) == [f"{_FEATURES}/{name}"]


@pytest.mark.parametrize("name", ["question", "endings"])
def test_other_texts_fail(name, recorded):
    path = recorded / "features_test.json"
    facts = json.loads(path.read_text())
    facts[name][5] = "another"
    path.write_text(json.dumps(facts))
    assert failed(recorded) == [f"{_FEATURES}/texts"]


@pytest.mark.slow
def test_another_head_fails(recorded):
    path = recorded / "head" / "expected.npz"
    expected = dict(np.load(path))
    names = ("logits", "per_example_loss", "eval_loss", "loss", "grad/output_weights")
    for name in names:
        np.savez(path, **{**expected, name: expected[name] + 1e-3})
        assert failed(recorded / "head") == [name]
    # What the padding of the batch is predicted as means nothing.
    predictions = expected["predictions"].copy()
    predictions[3] = 2
    np.savez(path, **{**expected, "predictions": predictions})
    assert failed(recorded / "head") == []
    predictions[0] = 1
    np.savez(path, **{**expected, "predictions": predictions})
    assert failed(recorded / "head") == ["predictions"]
