"""A task is one file and one line of the registry: the example of docs/extending.md."""

import importlib
import random
import re
import sys

import numpy as np
import pytest

from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.task import Task


@pytest.mark.slow
def test_a_task_of_ones_own_is_trained_scored_predicted_and_served(
    flags, project, tmp_path, monkeypatch
):
    text = (project / "docs" / "extending.md").read_text()
    (example,) = re.findall(r"<!-- task -->\n```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "text_length.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "text_length", raising=False)
    monkeypatch.setattr(Task, "kinds", dict(Task.kinds))
    importlib.import_module("text_length")
    chance = random.Random(0)
    for name, rows in (("train", 64), ("dev", 8), ("test", 8)):
        texts = ["good " * chance.randint(1, 8) for _ in range(rows)]
        lines = ["sentence", *(text.strip() for text in texts)]
        (tmp_path / "data" / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    asked = {"do_train": True, "do_eval": True, "do_predict": True}
    served = tmp_path / "served"
    out = flags(
        label_kind="text_length",
        train_step=20,
        learning_rate=2e-3,
        save_checkpoints_steps=20,
        export_dir=served,
        **asked,
    )
    results = (out / "eval_results.txt").read_text().splitlines()
    scores = dict(line.split(" = ") for line in results)
    assert np.isfinite(float(scores["eval_loss"]))
    assert (out / "dev_errors.tsv").exists()
    predicted = np.loadtxt(out / "lengths.txt")
    texts = (tmp_path / "data" / "test.tsv").read_text().splitlines()[1:]
    answers = Predictor(served).arrays(texts)
    np.testing.assert_allclose(answers["words"], predicted, atol=0.06)
