"""verify on recordings of multiple choice."""

import shutil

import numpy as np
import pytest

from tests.tools.verify.squad_recording import failed


@pytest.fixture
def recorded(shared, tmp_path):
    """A copy of the official recordings of one file, to be changed."""
    folder = tmp_path / "recorded"
    unread = shutil.ignore_patterns("features_train.*", "features_dev.*", "all_txt")
    shutil.copytree(shared("fixtures/official_race"), folder, ignore=unread)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.copy(shared("data/vocab/albert_en_30k") / "30k-clean.model", folder)
    return folder


@pytest.mark.slow
def test_other_features_fail(recorded):
    assert failed(recorded) == []
    arrays = dict(np.load(recorded / "features_test.npz"))
    arrays["label_ids"].reshape(-1)[3] += 1
    np.savez(recorded / "features_test.npz", **arrays)
    assert failed(recorded) == ["one_file_an_article/features_test/label_ids"]


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
