"""GLUE files: columns, label order, headers, bad rows."""

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification import glue
from albert_tf.tasks.classification.glue import glue_examples
from albert_tf.tasks.classification.glue import glue_task
from albert_tf.tasks.examples import of_role

_MNLI_DEV = (
    "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse "
    "sentence1_parse sentence2_parse sentence1 sentence2 label1 gold_label"
)
_HEADERS = {
    # task: folder, file, header (None: none), one row, texts, label id
    "mnli": ("MNLI", "dev_matched", _MNLI_DEV, "neutral", (8, 9), 2),
    "mismnli": ("MNLI", "dev_mismatched", _MNLI_DEV, "contradiction", (8, 9), 0),
    "mrpc": ("MRPC", "dev", "Quality|#1 ID|#2 ID|#1 String|#2 String", "1", (3, 4), 1),
    "qqp": (
        "QQP",
        "dev",
        "id qid1 qid2 question1 question2 is_duplicate",
        "1",
        (3, 4),
        1,
    ),
    "sts-b": (
        "STS-B",
        "dev",
        "index genre filename year old_index source1 source2 sentence1 sentence2 score",
        "2.5",
        (7, 8),
        2.5,
    ),
    "qnli": (
        "QNLI",
        "dev",
        "index question sentence label",
        "not_entailment",
        (1, 2),
        1,
    ),
    "rte": ("RTE", "dev", "index sentence1 sentence2 label", "entailment", (1, 2), 0),
    "wnli": ("WNLI", "dev", "index sentence1 sentence2 label", "1", (1, 2), 1),
    "sst-2": ("SST-2", "dev", "sentence label", "0", (0,), 0),
    "cola": ("CoLA", "dev", None, "1", (3,), 1),
}


def _fields(text):
    return text.split("|") if "|" in text else text.split()


@pytest.mark.parametrize("name", sorted(_HEADERS))
def test_official_columns_and_label_order(tmp_path, name):
    folder, file, header, label, texts, expected = _HEADERS[name]
    names = _fields(header) if header else ["source", "label", "star", "sentence"]
    row = [f"field {i}" for i in range(len(names))]
    row[1 if name == "cola" else 0 if name == "mrpc" else -1] = label
    lines = ["\t".join(names)] if header else []
    (tmp_path / folder).mkdir()
    for own in glue.TASKS[name]["dev"].values():
        text = "\n".join([*lines, "\t".join(row)]) + "\n"
        (tmp_path / folder / own).write_text(text)
    _, tables = glue_examples(name, tmp_path, roles=("dev",))
    table = tables[file]
    assert next(iter(tables)) == file
    assert [table.texts[0], *(table.text_pairs or [])] == [row[i] for i in texts]
    assert table.labels.tolist() == [expected]


@pytest.mark.parametrize("folder", ["QNLI", "QNLIv2"])
def test_both_spellings_of_qnli(tmp_path, folder):
    (tmp_path / folder).mkdir()
    with pytest.raises(UserError, match=f"{folder}/train.tsv"):
        glue_examples("qnli", tmp_path)


def test_mnli_scores_both_dev_sets_and_names_both_submissions(tmp_path):
    (tmp_path / "MNLI").mkdir()
    for role, label in (("dev", "gold_label"), ("test", "index")):
        for name in ("matched", "mismatched"):
            row = f"sentence1\tsentence2\t{label}\na\tb\tneutral\n"
            (tmp_path / "MNLI" / f"{role}_{name}.tsv").write_text(row)
    for task, order in (
        ("mnli", ["matched", "mismatched"]),
        ("mismnli", ["mismatched", "matched"]),
    ):
        _, tables = glue_examples(task, tmp_path, roles=("dev", "test"))
        assert list(of_role(tables, "dev")) == [f"dev_{name}" for name in order]
        assert {name: t.submission for name, t in of_role(tables, "test").items()} == {
            "test_matched": "MNLI-m",
            "test_mismatched": "MNLI-mm",
        }
    _, tables = glue_examples("mnli", tmp_path, False, ("dev", "test"), False)
    assert not of_role(tables, "test")  # they have no labels


def test_diagnostic_set_is_only_predicted(tmp_path):
    (tmp_path / "AX").mkdir()
    (tmp_path / "AX" / "diagnostic.tsv").write_text(
        "index\tsentence1\tsentence2\n0\ta\tb\n"
    )
    task, tables = glue_examples("ax", tmp_path)
    assert {name: own.texts for name, own in tables.items()} == {"test": ["a"]}
    assert task.labels == ("contradiction", "entailment", "neutral")


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


def test_wrong_header_unknown_task_and_absent_folder_are_errors(tmp_path):
    (tmp_path / "RTE").mkdir()
    (tmp_path / "RTE" / "dev.tsv").write_text("a\tb\nx\ty\n")
    with pytest.raises(UserError, match="dev.tsv has no column 'sentence1'"):
        glue_examples("rte", tmp_path, roles=("dev",))
    with pytest.raises(UserError, match="no folder CoLA"):
        glue_examples("cola", tmp_path)
    with pytest.raises(UserError, match="--task_name=glue is unknown"):
        glue_examples("glue", tmp_path)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("cola", (1043, 1063)),
        ("mrpc", (408, 1725)),
        ("rte", (277, 3000)),
        ("sst-2", (872, 1821)),
    ],
)
def test_released_files_are_read_whole(shared, name, rows):
    _, tables = glue_examples(name, shared("data/glue"), roles=("dev", "test"))
    dev, test = tables.values()
    assert (len(dev), len(test)) == rows
    assert set(dev.labels.tolist()) == {0, 1}
    assert test.labels is None


def test_each_task_has_the_metrics_of_the_leaderboard():
    """Literal, because what picks the best checkpoint must not change unnoticed."""
    expected = {
        "cola": ("matthew_corr", "accuracy"),
        "sst-2": ("accuracy",),
        "mrpc": ("accuracy", "f1"),
        "qqp": ("accuracy", "f1"),
        "sts-b": ("pearson", "spearman", "MSE"),
        "mnli": ("accuracy",),
        "mismnli": ("accuracy",),
        "qnli": ("accuracy",),
        "rte": ("accuracy",),
        "wnli": ("accuracy",),
        "ax": ("matthew_corr", "accuracy"),
    }
    assert {name: task["metrics"] for name, task in glue.TASKS.items()} == expected
    assert glue_task("SST2").name == "sst-2"
