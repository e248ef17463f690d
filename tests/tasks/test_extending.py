"""The Python of docs/extending.md and docs/finetuning.md runs as it stands there."""

import importlib
import pathlib
import random
import re
import sys

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.models.albert import AlbertModel
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.task import Task
from tests.tasks.conftest import results


@pytest.mark.slow
def test_a_task_of_ones_own_is_trained_scored_predicted_and_served(
    flags, project, tmp_path, monkeypatch
):
    """A task is one file and one line of the registry."""
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
    steps = {"train_step": 20, "learning_rate": 2e-3, "save_checkpoints_steps": 20}
    served = tmp_path / "served"
    out = flags(label_kind="text_length", export_dir=served, **asked, **steps)
    assert np.isfinite(results(out)["eval_loss"])
    assert (out / "dev_errors.tsv").exists()
    predicted = np.loadtxt(out / "lengths.txt")
    texts = (tmp_path / "data" / "test.tsv").read_text().splitlines()[1:]
    answers = Predictor(served).arrays(texts)
    np.testing.assert_allclose(answers["words"], predicted, atol=0.06)


@pytest.mark.slow
@pytest.mark.nightly
def test_documented_examples_run(
    project, family_config, family_tokenizer, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    tokenizer = family_tokenizer()
    config = family_config("albert", tokenizer, max_position_embeddings=64)
    AlbertModel(config).save_pretrained("albert_base", tokenizer)
    chance, tables = random.Random(0), pathlib.Path("tables")
    tables.mkdir()
    for name in ("train", "dev"):
        rows = [chance.choice(["good film\tyes", "bad plot\tno"]) for _ in range(48)]
        lines = "\n".join(["sentence\tlabel", *rows]) + "\n"
        (tables / f"{name}.tsv").write_text(lines)
    text = (project / "docs" / "finetuning.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found = []
    for example in examples:
        found.append(names := {})
        exec(compile(example, "finetuning.md", "exec"), names)
    for example in found[:3]:  # the class twice, the Keras model
        assert example["answer"]["label"] in ("good", "bad")
    assert len(examples[0].strip().splitlines()) == 2 + 3  # an import and three lines
    logits = [example["logits"].shape for example in found[2:]]
    assert logits == [(1, 2), (48, 2)]  # from strings, from tables
    answers = Predictor("fine_tuned").arrays(["good film"])
    row = names["tables"]["dev"].texts.index("good film")
    expected = tf.nn.softmax(names["logits"][row])
    np.testing.assert_allclose(answers["probabilities"][0], expected, atol=1e-5)
