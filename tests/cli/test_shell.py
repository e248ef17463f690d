"""What the shell completes, and Ctrl-C while a command imports its libraries."""

import os
import shlex
import subprocess
import sys

import pytest

from albert_tf.cli import shell


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
    pytest.importorskip("argcomplete")
    answers = tmp_path / "answers"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_COMP_WORDBREAKS": " =",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = [sys.executable, "-m", "albert_tf.cli.commands"]
    variables = {**os.environ, **asked}
    subprocess.run(command, cwd=project, env=variables, check=True, capture_output=True)
    found = {answer.strip() for answer in answers.read_text().split("\n")}
    assert some <= found
    assert not none & found


def test_a_command_says_a_word_when_ctrl_c_ends_an_import(tmp_path, project):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    path = os.pathsep.join([str(tmp_path), str(project)])

    def interrupted(*words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=project,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )

    for command in (
        "run_pretraining.py --input_file=a --albert_config_file=b --output_dir=nowhere",
        "-m albert_tf export --model_dir=a --export_dir=b",
        "-m data_pipeline.create_pretraining_data --input_file=a --output_file=b "
        "--spm_model_file=c",
    ):
        done = interrupted(*command.split())
        line = f"To continue, run: {shlex.quote(sys.executable)} {command}"
        assert done.stderr == f"\ninterrupted\n{line}\n"
        assert done.returncode in (-2, 130)
    theirs = interrupted("-c", "import albert_tf.cli.command_line, tensorflow")
    assert "Traceback" in theirs.stderr and "KeyboardInterrupt" in theirs.stderr


def test_the_installed_program_goes_by_its_name(monkeypatch, capsys):
    command = ["/somewhere/bin/albert-tf", "pretrain", "--input_file=a b"]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(sys, "orig_argv", ["/somewhere/bin/python3", *command])
    shell.say_how_to_go_on()
    printed = capsys.readouterr().err
    assert printed == "To continue, run: albert-tf pretrain '--input_file=a b'\n"
