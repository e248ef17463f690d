"""GLUE tasks through run_classifier: evaluated, predicted, ready for submission."""

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tokenization import load_tokenizer

_NLI = ("sentence1", "sentence2")
# task: folder, dev files, test files, columns of dev, submission
_TASKS = {
    "mnli": (
        "MNLI",
        ("dev_matched", "dev_mismatched"),
        ("test_matched", "test_mismatched"),
        (*_NLI, "gold_label"),
        "MNLI-m",
    ),
    "sts-b": ("STS-B", ("dev",), ("test",), (*_NLI, "score"), ""),
    "ax": (
        "AX",
        ("diagnostic-full",),
        ("diagnostic",),
        ("Premise", "Hypothesis", "Label"),
        "",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _TASKS)
def test_evaluated_predicted_and_submitted(flags, tmp_path, name):
    folder, dev, test, columns, submission = _TASKS[name]
    (tmp_path / folder).mkdir()
    task = glue_task(name)
    labels = task.labels or ("0.5", "2", "5.0")
    tables = {
        **dict.fromkeys(test, (_NLI, [()] * 3)),
        **dict.fromkeys(dev, (columns, [(label,) for label in labels])),
    }
    for file, (names, rows) in tables.items():
        lines = [names, *(("good", "film", *own) for own in rows)]
        text = "".join("\t".join(line) + "\n" for line in lines)
        (tmp_path / folder / f"{file}.tsv").write_text(text)
    config = AlbertConfig.from_json_file(tmp_path / "tiny.json")
    info = {"task": task.to_dict(), "max_seq_length": 16, "step": 1}
    AlbertForSequenceClassification(config, task.num_outputs).save_pretrained(
        tmp_path / "tuned", load_tokenizer(tmp_path / "vocab.txt"), info
    )
    out = flags(
        task_name=name,
        data_dir=tmp_path,
        init_checkpoint=tmp_path / "tuned",
        do_eval=True,
        do_predict=True,
    )
    results = (out / "eval_results.txt").read_text()
    prefix = "full_" if name == "ax" else ""
    for metric in task.metrics:
        official = "eval_accuracy" if metric == "accuracy" and not prefix else metric
        assert f"{prefix}{official} = " in results
    path = out / f"{submission or folder}.tsv"
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [line[0] for line in lines] == ["index", "0", "1", "2"]
    assert len((out / "test_results.tsv").read_text().splitlines()) == 4
    assert not task.labels or {own for _, own in lines[1:]} <= set(task.labels)
