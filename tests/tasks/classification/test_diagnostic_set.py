"""GLUE's diagnostic set through run_classifier: scored, predicted, for submission."""

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.errors import UserError
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tokenization import load_tokenizer
from tests.tasks.conftest import results


@pytest.mark.slow
def test_the_diagnostic_set(flags, tmp_path):
    (tmp_path / "AX").mkdir()
    task = glue_task("ax")
    rows = [f"good\tfilm\t{label}" for label in task.labels]
    pair = "sentence1\tsentence2", *["good\tfilm"] * 3
    (tmp_path / "AX" / "diagnostic.tsv").write_text("\n".join(pair) + "\n")
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    info = {"task": task.to_dict(), "max_seq_length": 16, "step": 1}
    AlbertForSequenceClassification(config, task.num_outputs).save_pretrained(
        tmp_path / "tuned", load_tokenizer(tmp_path / "vocab.txt"), info
    )
    asked = {"task_name": "ax", "data_dir": tmp_path}
    with pytest.raises(UserError, match="has no training set"):
        flags(do_train=True, **asked)
    asked |= {"init_checkpoint": tmp_path / "tuned", "do_eval": True}
    with pytest.raises(UserError, match="no table with labels .* diagnostic-full.tsv"):
        flags(**asked)
    table = "\n".join(["Premise\tHypothesis\tLabel", *rows]) + "\n"
    (tmp_path / "AX" / "diagnostic-full.tsv").write_text(table)
    out = flags(**asked, do_predict=True)
    assert {"full_matthew_corr", "full_accuracy"} <= results(out).keys()
    lines = (out / "AX.tsv").read_text().splitlines()
    index, predicted = zip(*(line.split("\t") for line in lines), strict=True)
    assert index == ("index", "0", "1", "2")
    assert {*predicted[1:]} <= {*task.labels}
    assert len((out / "test_results.tsv").read_text().splitlines()) == 4
