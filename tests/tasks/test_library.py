"""Fine-tuning in Python: the documented examples."""

import pathlib
import random
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.cli.command_line import parse
from albert_tf.models.albert import AlbertModel
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tokenization import load_tokenizer

_PIECES = ["good", "bad", "film", "plot"]


@pytest.fixture
def config(tiny_config):
    return tiny_config(
        vocab_size=5 + len(_PIECES),
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        hidden_dropout_prob=0.1,
    )


@pytest.mark.slow
def test_documented_examples_run(project, vocabulary, config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("vocab.txt").write_text(vocabulary(_PIECES))
    AlbertModel(config).save_pretrained("albert_base", load_tokenizer("vocab.txt"))
    chance = random.Random(0)
    for name in ("train", "dev"):
        rows = [chance.choice(["good film\tyes", "bad plot\tno"]) for _ in range(48)]
        pathlib.Path("tables").mkdir(exist_ok=True)
        table = "\n".join(["sentence\tlabel", *rows]) + "\n"
        pathlib.Path("tables", f"{name}.tsv").write_text(table)
    text = (project / "docs" / "finetuning.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found = []
    for example in examples:
        names = {}
        exec(compile(example, "finetuning.md", "exec"), names)
        found.append(names)
    for example in found[:3]:  # the class twice, the Keras model
        assert example["answer"]["label"] in ("good", "bad")
    assert len(examples[0].strip().splitlines()) == 2 + 3  # an import and three lines
    logits = [example["logits"].shape for example in found[2:]]
    assert logits == [(1, 2), (48, 2)]  # from strings, from tables
    predictor = Predictor("fine_tuned")
    answers = predictor.arrays(["good film"])
    row = names["tables"]["dev"].texts.index("good film")
    expected = tf.nn.softmax(names["logits"][row])
    np.testing.assert_allclose(answers["probabilities"][0], expected, atol=1e-5)
    shutil.copy("tables/dev.tsv", "tables/test.tsv")
    argv = ["run_classifier.py", "--task_name=custom", "--data_dir=tables"]
    argv += ["--init_checkpoint=fine_tuned", "--output_dir=out"]
    options = parse(ClassifierOptions, [*argv, "--do_eval", "--do_predict"])
    results = run_repeatedly(options)
    assert results["eval_accuracy"] == results["test_accuracy"]
    assert results["eval_accuracy"] == pytest.approx(names["accuracy"])
    assert "global_step" not in results
    lines = pathlib.Path("out/test_results.tsv").read_text().splitlines()
    np.testing.assert_allclose(
        [float(value) for value in lines[1 + row].split("\t")[1:]], expected, atol=1e-5
    )
