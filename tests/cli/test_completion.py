"""The shell completes commands, their flags, and the flags' values."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("argcomplete")


def completed(line, project, tmp_path):
    """Returns what the shell is told of a line whose end is typed."""
    answers = tmp_path / "answers"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_COMP_WORDBREAKS": " =",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(
        [sys.executable, "-m", "albert_tf.cli.commands"],
        cwd=project,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    return {answer.strip() for answer in answers.read_text().split("\n")}


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("albert-tf pre", {"pretrain"}, {"classify"}),
        ("albert-tf pretrain --optimizer=ad", {"adamw"}, {"lamb"}),
        (
            "albert-tf pretrain --config=pretraining/",
            {"pretraining/base", "pretraining/wikipedia_small"},
            {"pretraining/tiny_config"},
        ),
        ("albert-tf classify --config=", {"glue/sst-2"}, {"pretraining/base", "demo"}),
        ("albert-tf pretrain --dry_run --do_", {"--do_train"}, {"--dry_run"}),
    ],
)
def test_ends_of_a_line(line, some, none, project, tmp_path):
    found = completed(line, project, tmp_path)
    assert some <= found
    assert not none & found
