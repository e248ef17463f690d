"""GLUE files: columns, label order, headers, bad rows."""

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification import glue
from albert_tf.tasks.classification.glue import glue_examples
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tasks.examples import of_role

_NLI = "index sentence1 sentence2"
_MNLI = (
    "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse "
    "sentence1_parse sentence2_parse sentence1 sentence2"
)
_STS = "index genre filename year old_index source1 source2 sentence1 sentence2"
_MRPC, _QQP = "#1 ID|#2 ID|#1 String|#2 String", "question1 question2"
_QNLI = "index question sentence"
_FILES = {
    # task: folder, headers of its dev and its test file, a label and its id. The dev
    # file of CoLA has no header.
    "cola": ("CoLA", "source label star sentence", "index sentence", "1", 1),
    "sst-2": ("SST-2", "sentence label", "index sentence", "0", 0),
    "mrpc": ("MRPC", f"Quality|{_MRPC}", f"index|{_MRPC}", "1", 1),
    "qqp": ("QQP", f"id qid1 qid2 {_QQP} is_duplicate", f"id {_QQP}", "1", 1),
    "sts-b": ("STS-B", f"{_STS} score", _STS, "2.5", 2.5),
    "mnli": ("MNLI", f"{_MNLI} label1 gold_label", _MNLI, "neutral", 2),
    "mismnli": ("MNLI", f"{_MNLI} label1 gold_label", _MNLI, "contradiction", 0),
    "qnli": ("QNLIv2", f"{_QNLI} label", _QNLI, "not_entailment", 1),
    "rte": ("RTE", f"{_NLI} label", _NLI, "entailment", 0),
    "wnli": ("WNLI", f"{_NLI} label", _NLI, "1", 1),
}
_LABELS = ("label", "Quality", "is_duplicate", "score", "gold_label")
_TEXTS = ("sentence", "sentence1", "sentence2", "question", "question1", "question2")


def _write(path, header, label):
    """Writes a row; returns its texts."""
    names = header.split("|") if "|" in header else header.split()
    row = [label if name in _LABELS else f"text of {name}" for name in names]
    lines = [row] if header.startswith("source") else [names, row]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    is_text = [name in _TEXTS or name.endswith("String") for name in names]
    return [field for field, kept in zip(row, is_text, strict=True) if kept]


@pytest.mark.parametrize("name", _FILES)
def test_official_columns_and_label_order(tmp_path, name):
    folder, dev_header, test_header, label, expected = _FILES[name]
    texts, files = {}, glue.TASKS[name]
    for split, file in files["dev"].items():
        texts[split] = _write(tmp_path / folder / file, dev_header, label)
    for split, (file, _) in files["test"].items():
        texts[split] = _write(tmp_path / folder / file, test_header, label)
    _, tables = glue_examples(name, tmp_path, roles=("dev", "test"))
    assert list(tables) == list(texts)
    own = folder.removesuffix("v2")
    submissions = {"dev": (None,), "test": (own, "MNLI-m", "MNLI-mm")}
    for split, table in tables.items():
        assert [table.texts[0], *(table.text_pairs or [])] == texts[split]
        assert table.is_labelled == split.startswith("dev")
        assert table.submission in submissions[split.split("_")[0]]
        assert not table.is_labelled or table.labels.tolist() == [expected]


def test_mnli_scores_both_dev_sets_and_names_both_submissions(tmp_path):
    names = ["matched", "mismatched"]
    for role, label in (("dev", "gold_label"), ("test", "index")):
        for name in names:
            path = tmp_path / "MNLI" / f"{role}_{name}.tsv"
            _write(path, f"sentence1 sentence2 {label}", "neutral")
    submissions = {"test_matched": "MNLI-m", "test_mismatched": "MNLI-mm"}
    for task, order in (("mnli", names), ("mismnli", names[::-1])):
        _, tables = glue_examples(task, tmp_path, roles=("dev", "test"))
        assert list(of_role(tables, "dev")) == [f"dev_{name}" for name in order]
        found = of_role(tables, "test")
        assert {name: own.submission for name, own in found.items()} == submissions
    _, tables = glue_examples("mnli", tmp_path, False, ("dev", "test"), False)
    assert not of_role(tables, "test")  # they have no labels


def test_short_rows_of_qqp_are_left_out(tmp_path):
    (tmp_path / "QQP").mkdir()
    (tmp_path / "QQP" / "dev.tsv").write_text(
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\ta\n2\t3\t4\tb\tc\t1\n"
        "3\t5\t6\t\td\t0\n4\t7\t8\te\t \t1\n"
    )
    table = glue_examples("qqp", tmp_path, roles=("dev",))[1]["dev"]
    # Empty questions stay, as in the official code.
    assert (table.texts, table.num_skipped) == (["b", "", "e"], 1)
    assert table.rows.tolist() == [1, 2, 3]


def test_a_bad_row_and_an_absent_folder_are_errors(tmp_path):
    (tmp_path / "RTE").mkdir()
    row = f"{_NLI} label\n0 a b\n".replace(" ", "\t")
    (tmp_path / "RTE" / "dev.tsv").write_text(row)
    with pytest.raises(UserError, match="dev.tsv, line 2: the row lacks field 4"):
        glue_examples("rte", tmp_path, roles=("dev",))
    with pytest.raises(UserError, match="no folder CoLA"):
        glue_examples("cola", tmp_path)


def test_released_files_are_read_whole(shared):
    """Their rows of dev and of test."""
    sizes = {
        "cola": (1043, 1063),
        "mrpc": (408, 1725),
        "rte": (277, 3000),
        "sst-2": (872, 1821),
    }
    for name, rows in sizes.items():
        _, tables = glue_examples(name, shared("data/glue"), roles=("dev", "test"))
        dev, test = tables.values()
        assert (len(dev), len(test)) == rows
        assert set(dev.labels.tolist()) == {0, 1}
        assert test.labels is None


def test_each_task_has_the_metrics_of_the_leaderboard():
    """Literal, because what picks the best checkpoint must not change unnoticed."""
    by_accuracy = ("sst-2", "mnli", "mismnli", "qnli", "rte", "wnli")
    expected = dict.fromkeys(by_accuracy, ("accuracy",))
    expected |= dict.fromkeys(("cola", "ax"), ("matthew_corr", "accuracy"))
    expected |= dict.fromkeys(("mrpc", "qqp"), ("accuracy", "f1"))
    expected["sts-b"] = ("pearson", "spearman", "MSE")
    assert {name: task["metrics"] for name, task in glue.TASKS.items()} == expected
    assert glue_task("SST2").name == "sst-2"
