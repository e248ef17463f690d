"""Each GLUE task through run_classifier: evaluated, predicted, ready for submission."""

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tokenization import load_tokenizer

_NLI = "index|sentence1|sentence2"
_MNLI = "index|promptID|pairID|genre|p1|p2|q1|q2|sentence1|sentence2"
_STS = "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2"
# task: folder, headers of dev and test (none: no header), submission
_TASKS = {
    "cola": ("CoLA", "", "index|sentence", "CoLA"),
    "sst-2": ("SST-2", "sentence|label", "index|sentence", "SST-2"),
    "mrpc": (
        "MRPC",
        "Quality|#1 ID|#2 ID|#1 String|#2 String",
        "index|#1 ID|#2 ID|#1 String|#2 String",
        "MRPC",
    ),
    "qqp": (
        "QQP",
        "id|qid1|qid2|question1|question2|is_duplicate",
        "id|question1|question2",
        "QQP",
    ),
    "sts-b": ("STS-B", f"{_STS}|score", _STS, "STS-B"),
    "mnli": ("MNLI", f"{_MNLI}|label1|gold_label", _MNLI, "MNLI-m"),
    "mismnli": ("MNLI", f"{_MNLI}|label1|gold_label", _MNLI, "MNLI-mm"),
    "qnli": (
        "QNLI",
        "index|question|sentence|label",
        "index|question|sentence",
        "QNLI",
    ),
    "rte": ("RTE", f"{_NLI}|label", _NLI, "RTE"),
    "wnli": ("WNLI", f"{_NLI}|label", _NLI, "WNLI"),
    "ax": ("AX", None, _NLI, "AX"),
}
_NORMAL = ("ax", "mnli", "sts-b")  # the others are like one of them
_LABEL_COLUMNS = ("label", "Quality", "is_duplicate", "score", "gold_label")


def _write(path, header, labels):
    """Three rows; texts everywhere but in the column of the label, if there is one."""
    names = header.split("|") if header else ["source", "label", "star", "sentence"]
    lines = ["\t".join(names)] if header else []
    for label in labels:
        fields = [label if n in _LABEL_COLUMNS else "good film" for n in names]
        lines.append("\t".join(fields))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name in _NORMAL else pytest.param(name, marks=pytest.mark.nightly)
        for name in sorted(_TASKS)
    ],
)
def test_evaluated_predicted_and_submitted(flags, tmp_path, name):
    folder, dev_header, test_header, submission = _TASKS[name]
    (tmp_path / folder).mkdir()
    task = glue_task(name)
    labels = ("0.5", "2", "5.0") if name == "sts-b" else (task.labels * 2)[:3]
    for side in ("_matched", "_mismatched") if folder == "MNLI" else ("",):
        if dev_header is not None:
            _write(tmp_path / folder / f"dev{side}.tsv", dev_header, labels)
        test = "diagnostic" if name == "ax" else f"test{side}"
        _write(tmp_path / folder / f"{test}.tsv", test_header, labels)
    if name == "ax":
        path = tmp_path / folder / "diagnostic-full.tsv"
        rows = [f"Logic\tgood\tfilm\t{label}" for label in labels]
        path.write_text("\n".join(["Domain\tPremise\tHypothesis\tLabel", *rows]))
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
    lines = [
        line.split("\t")
        for line in (out / f"{submission}.tsv").read_text().splitlines()
    ]
    assert [line[0] for line in lines] == ["index", "0", "1", "2"]
    assert len((out / "test_results.tsv").read_text().splitlines()) == 4
    if task.labels:
        assert {prediction for _, prediction in lines[1:]} <= set(task.labels)
