"""The GLUE tasks as data: columns, label order, headers, metrics, submission names.

Columns, label order (the id order of released fine-tuned models) and task names follow
the official `classifier_utils.py`; F1 and Spearman, which it lacks, follow the GLUE
leaderboard. Columns are selected by header name, so that a file with another layout
raises an error instead of yielding a wrong column.
"""

import dataclasses
import pathlib

from albert_tf.errors import UserError
from albert_tf.hub.repositories import GLUE_PAGE
from albert_tf.tasks.examples import ROLES
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.tables import Columns

_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")
_F1 = ("accuracy", "f1")
_MATTHEWS = ("matthew_corr", "accuracy")
_CORRELATIONS = ("pearson", "spearman", "MSE")
_SENTENCES = ("sentence1", "sentence2")


def _task(directories, text, text_pair=None, label="label", **changes):
    """Describes a task, whose submission has the name of its first directory."""
    directories = directories.split()  # names under data_dir, the usual one first
    return {
        "directories": directories,
        "columns": Columns(text, text_pair, label),  # of the labelled files
        "test_columns": Columns(text, text_pair),
        "dev": {"dev": "dev.tsv"},  # file name by split
        "test": {"test": ("test.tsv", directories[0])},  # and of the submission file
        "labels": _BINARY,
        "metrics": ("accuracy",),
        "kind": "single_label",
        # For QQP, the official code leaves out short rows and keeps empty questions.
        "skip_bad_rows": False,
        **changes,
    }


def _mnli(first, second):
    names = {"matched": "MNLI-m", "mismatched": "MNLI-mm"}
    order = (first, second)
    return _task(
        "MNLI",
        *_SENTENCES,
        "gold_label",
        labels=_NLI,
        dev={f"dev_{name}": f"dev_{name}.tsv" for name in order},
        test={f"test_{name}": (f"test_{name}.tsv", names[name]) for name in order},
    )


_QUESTIONS = ("question1", "question2", "is_duplicate")
TASKS = {
    # The train and dev files of CoLA have no header; its test file has one.
    "cola": _task(
        "CoLA", 3, None, 1, metrics=_MATTHEWS, test_columns=Columns("sentence")
    ),
    "sst-2": _task("SST-2", "sentence"),
    "mrpc": _task("MRPC", "#1 String", "#2 String", "Quality", metrics=_F1),
    "qqp": _task(
        "QQP",
        *_QUESTIONS,
        metrics=_F1,
        skip_bad_rows=True,
        columns=Columns(*_QUESTIONS, may_be_empty=True),
    ),
    "sts-b": _task(
        "STS-B",
        *_SENTENCES,
        "score",
        labels=(),
        metrics=_CORRELATIONS,
        kind="regression",
    ),
    "mnli": _mnli("matched", "mismatched"),
    "mismnli": _mnli("mismatched", "matched"),
    "qnli": _task("QNLI QNLIv2", "question", "sentence", labels=_ENTAILMENT),
    "rte": _task("RTE", *_SENTENCES, labels=_ENTAILMENT),
    "wnli": _task("WNLI", *_SENTENCES),
    # The diagnostic set is for models fine-tuned on MNLI.
    "ax": _task(
        "AX diagnostic",
        *_SENTENCES,
        labels=_NLI,
        metrics=_MATTHEWS,
        dev={},
        test={"test": ("diagnostic.tsv", "AX")},
    ),
}
# The diagnostic set with its labels, as GLUE publishes it beside the other.
_LABELLED_AX = ("diagnostic-full.tsv", Columns("Premise", "Hypothesis", "Label"))
_ALIASES = {"sst2": "sst-2", "stsb": "sts-b", "mnli-m": "mnli", "mnli-mm": "mismnli"}


def glue_task(task_name):
    """Makes the `TextTask` of a GLUE task.

    Args:
        task_name: official name such as `"sst-2"`, in any case; see `TASKS`.

    Raises:
        UserError: there is no such task.
    """
    name = _ALIASES.get(task_name.lower(), task_name.lower())
    if name not in TASKS:
        raise UserError(
            f"--task_name={task_name} is unknown: expected custom or one of "
            f"{', '.join(TASKS)}."
        )
    glue = TASKS[name]
    return create_task(
        glue["kind"],
        name,
        labels=glue["labels"],
        pair=glue["columns"].text_pair is not None,
        metrics=glue["metrics"],
    )


def glue_examples(
    task_name, data_dir, skip_bad_rows=False, roles=ROLES, unlabelled=True
):
    """Reads a GLUE task from its folder.

    Args:
        task_name: see `glue_task`.
        data_dir: folder with `CoLA/`, `SST-2/`, …, as `download_glue_data.py` creates
            it.
        skip_bad_rows: skip and count bad rows (always for QQP).
        roles: the roles to read; their files must exist.
        unlabelled: whether to read test files without labels.

    Returns:
        (task, examples): a `TextTask`, and a dict of `Table` by name: "train", "dev"
        (MNLI's "dev_matched", "dev_mismatched"), "test" (…).

    Raises:
        UserError: the task is unknown, its folder is missing, or a file is bad.
    """
    task = glue_task(task_name)
    glue = TASKS[task.name]
    folders = [pathlib.Path(data_dir) / folder for folder in glue["directories"]]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise UserError(
            f"--data_dir={data_dir} has no folder {folders[0].name}; expected the "
            f"GLUE files of {task.name} there; download them from {GLUE_PAGE}."
        )
    files = {"train": ("train", "train.tsv")} if glue["dev"] else {}
    files |= {name: ("dev", file) for name, file in glue["dev"].items()}
    examples, skips = {}, skip_bad_rows or glue["skip_bad_rows"]
    for name, (role, file) in files.items():
        if role in roles:
            examples[name] = task.read(folder / file, glue["columns"], role, skips)
    if "test" not in roles:
        return task, examples
    for name, (file, submission) in glue["test"].items() if unlabelled else ():
        table = task.read(folder / file, glue["test_columns"], "test", skips)
        examples[name] = dataclasses.replace(table, submission=submission)
    if task.name == "ax" and (folder / _LABELLED_AX[0]).exists():
        file, columns = _LABELLED_AX
        examples["full"] = task.read(folder / file, columns, "test", skips)
    return task, examples
