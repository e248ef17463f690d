"""GLUE files: columns, label order, headers, bad rows."""

import pytest

from albert_tf.errors import UserError
from albert_tf.tasks.classification.glue import TASKS
from albert_tf.tasks.classification.glue import glue_source

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
    path = tmp_path / folder / f"{file}.tsv"
    path.write_text("\n".join([*lines, "\t".join(row)]) + "\n")
    source = glue_source(name, tmp_path)
    table = source.read(next(iter(source.dev.values())))
    assert [table.texts[0], *(table.text_pairs or [])] == [row[i] for i in texts]
    assert table.labels.tolist() == [expected]


def test_every_task_is_there_and_aliases_resolve(tmp_path):
    assert len(TASKS) == 11  # nine tasks, MNLI from two sides, the diagnostic set
    (tmp_path / "SST-2").mkdir()
    assert glue_source("SST2", tmp_path).task.name == "sst-2"


@pytest.mark.parametrize("folder", ["QNLI", "QNLIv2"])
def test_both_spellings_of_qnli(tmp_path, folder):
    (tmp_path / folder).mkdir()
    assert glue_source("qnli", tmp_path).train.path == tmp_path / folder / "train.tsv"


def test_mnli_scores_both_dev_sets_and_names_both_submissions(tmp_path):
    (tmp_path / "MNLI").mkdir()
    source = glue_source("mnli", tmp_path)
    assert list(source.dev) == ["dev_matched", "dev_mismatched"]
    assert [split.submission for split in source.test.values()] == ["MNLI-m", "MNLI-mm"]
    assert list(glue_source("mismnli", tmp_path).dev)[0] == "dev_mismatched"


def test_diagnostic_set_is_only_predicted(tmp_path):
    (tmp_path / "AX").mkdir()
    (tmp_path / "AX" / "diagnostic.tsv").write_text(
        "index\tsentence1\tsentence2\n0\ta\tb\n"
    )
    source = glue_source("ax", tmp_path)
    assert (source.train, source.dev) == (None, {})
    assert source.read(source.test["test"]).texts == ["a"]
    assert source.task.labels == ("contradiction", "entailment", "neutral")


def test_short_rows_of_qqp_are_left_out(tmp_path):
    (tmp_path / "QQP").mkdir()
    (tmp_path / "QQP" / "dev.tsv").write_text(
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\ta\n2\t3\t4\tb\tc\t1\n"
        "3\t5\t6\t\td\t0\n4\t7\t8\te\t \t1\n"
    )
    source = glue_source("qqp", tmp_path)
    table = source.read(source.dev["dev"])
    # Empty questions stay, as in the official code.
    assert (table.texts, table.num_skipped) == (["b", "", "e"], 1)
    assert table.rows.tolist() == [1, 2, 3]


def test_wrong_header_unknown_task_and_absent_folder_are_errors(tmp_path):
    (tmp_path / "RTE").mkdir()
    (tmp_path / "RTE" / "dev.tsv").write_text("a\tb\nx\ty\n")
    source = glue_source("rte", tmp_path)
    with pytest.raises(UserError, match="dev.tsv has no column 'sentence1'"):
        source.read(source.dev["dev"])
    with pytest.raises(UserError, match="no folder CoLA"):
        glue_source("cola", tmp_path)
    with pytest.raises(UserError, match="--task_name=glue is unknown"):
        glue_source("glue", tmp_path)


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
    source = glue_source(name, shared("data/glue"))
    dev, test = source.read(source.dev["dev"]), source.read(source.test["test"])
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
    assert {name: task.metrics for name, task in TASKS.items()} == expected
