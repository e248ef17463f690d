"""The program albert-tf: help, what that waits for, the shell, models that it reads."""

import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints import model_directory
from albert_tf.cli import commands
from albert_tf.cli import shell
from albert_tf.errors import UserError
from albert_tf.models.pretraining import AlbertForPreTraining
from albert_tf.tokenization import load_tokenizer

# Runs --help of every command of the checkout as a user would, in one process.
_RUN_ALL = r"""
import contextlib, importlib, io, json, pathlib, re, runpy, sys, time
main = r"(command_line|run\w*|main)$"
entry = re.compile(rf"^from (albert_tf|tools.verify)[.\w]* import {main}", re.M)
flags = r"option\(|(export|flags|verify) import main|import DataOptions$"
roots = [pathlib.Path(r) for r in ("albert_tf", "benchmarks", "data_pipeline", "tools")]
paths = [path for root in roots for path in root.rglob("*.py")]
found = {}
for path in sorted([*paths, *pathlib.Path().glob("run_*.py")]):
    text = path.read_text(encoding="utf-8")
    of_program = str(path.parent) in ("albert_tf/commands", "albert_tf/serving")
    is_module = "__main__" in text + path.name
    if not re.search(flags, text, re.M) or not entry.search(text):
        continue
    if is_module or of_program:
        sys.argv = [str(path), "--help"]
        printed, started = io.StringIO(), time.process_time()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            module = ".".join(path.with_suffix("").parts).removesuffix(".__main__")
            if of_program:
                importlib.import_module(module).main(sys.argv)
            else:
                runpy.run_module(module, None, "__main__", alter_sys=True)
        assert "--config" in printed.getvalue(), path
        found[str(path)] = time.process_time() - started
slow = ("tensorflow", "keras", "torch", "jax", "apache_beam", "matplotlib")
print(json.dumps([found, [package for package in slow if package in sys.modules]]))
"""


def test_no_command_waits_for_tensorflow(project):
    command = [sys.executable, "-W", "ignore", "-c", _RUN_ALL]
    done = subprocess.run(command, cwd=project, capture_output=True, check=True)
    seconds, slow = json.loads(done.stdout)
    assert len(seconds) > 30 and "run_demo.py" in seconds
    assert slow == []
    assert max(seconds.values()) < 1


def test_the_program_tells_its_version_its_commands_and_the_path(capsys):
    def printed(*words):
        commands.main(["albert-tf", *words])
        return capsys.readouterr().out

    assert printed("--version") == f"albert-tf {albert_tf.__version__}\n"
    listed = printed("--help")
    for name, (_, about) in commands.COMMANDS.items():
        assert f"  {name} " in listed and about in listed
    path = printed()
    assert len(path.splitlines()) < 24  # one screen
    for line in re.findall(r"^  albert-tf (.*(?:\\\n.*)*)", path, re.M):
        name, *flags = re.findall(r"^\w+|--\w+", line)
        with pytest.raises(SystemExit):
            commands.main(["albert-tf", name, "--help"])
        explained = capsys.readouterr().out
        assert [flag for flag in flags if f"\n  {flag}" not in explained] == []


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


# Of each way to read a model one command, with its flags; "{}" stands for the model.
_READING = {
    "pretrain": "--init_checkpoint={} --input_file=texts.txt --output_dir=out "
    "--albert_config_file=config.json --max_seq_length=16 --max_predictions_per_seq=2",
    "classify": "--init_checkpoint={} --task_name=custom --data_dir=. --output_dir=out "
    "--do_train --max_seq_length=16",
    "search": "--model_dir={} --index_dir=index --corpus_file=texts.txt",
    "fill-mask": "--model_dir={} [MASK]",
    "embed": "--model_dir={} --input_file=texts.txt --output_file=x.npy",
    "tools.inspect_layers": "--model_dir={} --output_dir=out text",
    "export": "--model_dir={} --export_dir=served",
    "serve": "--model_dir={}",
    "convert": "--from={} --to=out",
    "upload": "--model_dir={} --repo=owner/name",
    "tools.verify": "{}",
}


def test_the_folder_of_several_runs_is_no_model(tmp_path, vocabulary):
    (tmp_path / "run_0" / "model").mkdir(parents=True)
    for name in ("head.json", "model.weights.h5", "albert_config.json"):
        (tmp_path / "run_0" / "model" / name).touch()
    (tmp_path / "run_0" / "history.json").touch()
    for read in (albert_tf.Predictor, albert_tf.AlbertModel.from_pretrained):
        with pytest.raises(UserError, match=r"did you mean .*run_0/model\?"):
            read(tmp_path)
    (tmp_path / "vocab.txt").write_text(vocabulary("a"))  # of its own
    assert load_tokenizer(tmp_path).vocab_size == 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_config, vocabulary):
    """A folder with the model directory `flipped`: a byte of its weights is another."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "texts.txt").write_text("a text\n")
    for role in ("train", "dev"):
        (folder / f"{role}.tsv").write_text("sentence\tlabel\na\tno\nb\tyes\n")
    (folder / "pieces.txt").write_text(vocabulary("abc"))
    tokenizer = load_tokenizer(folder / "pieces.txt")
    config = tiny_config(vocab_size=tokenizer.vocab_size, num_hidden_layers=1)
    config.to_json_file(folder / "config.json")
    model = AlbertForPreTraining(config)
    # The byte is one of the weights, not of the structure of the file.
    kernel = model.albert.pooler.kernel
    kernel.assign(np.full(kernel.shape, 0.7182818, "float32"))
    model.save_pretrained(folder / "flipped", tokenizer)
    weights = folder / "flipped" / "model.weights.h5"
    data = bytearray(weights.read_bytes())
    data[data.index(np.float32(0.7182818).tobytes())] ^= 1
    weights.write_bytes(data)
    for name in ("inputs", "expected"):
        np.savez(folder / "flipped" / f"{name}.npz", input_ids=np.zeros((1, 5)))
    return folder


@pytest.mark.parametrize("command", _READING)
def test_a_flipped_byte_is_refused_unless_a_flag_says(
    command, folder, capsys, monkeypatch
):
    def read_on(*_):
        raise UserError("The weights are accepted.")

    # What follows the comparison; so that the test needs no training.
    monkeypatch.setattr(model_directory, "_check_size", read_on)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")  # asked for before weights are read
    monkeypatch.chdir(folder)
    flags = _READING[command].format("flipped").split()

    def said(*others):
        with pytest.raises(SystemExit) as ended:
            if command in commands.COMMANDS:
                commands.main(["albert-tf", command, *flags, *others])
            else:
                pkgutil.resolve_name(f"{command}:main")([command, *flags, *others])
        assert ended.value.code == 1
        return capsys.readouterr().err.splitlines()[-1]

    message = "flipped/model.weights.h5 is damaged: its SHA-256 differs from the one"
    assert message in said()
    assert said("--noverify_checksum") == "error: The weights are accepted."
