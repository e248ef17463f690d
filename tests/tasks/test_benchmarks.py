"""The benchmarks of fine-tuning run on tiny tasks and print their figures."""

import json
import pathlib
import subprocess

import pytest

from albert_tf.cli import command_line
from albert_tf.errors import UserError
from albert_tf.tasks.classification import run as classification
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.commands.run import run_repeatedly
from albert_tf.tokenization import load_tokenizer
from benchmarks import finetune_epoch
from benchmarks import first_step
from benchmarks import glue_results
from benchmarks import pretraining_gain
from benchmarks.measuring import turns
from tests.players import PlayerHere


@pytest.fixture
def sst2(flags, tmp_path):
    """A GLUE folder with a tiny SST-2, beside the files of `flags`."""
    folder = tmp_path / "glue" / "SST-2"
    folder.mkdir(parents=True)
    for name in ("train", "dev"):
        lines = (tmp_path / "data" / f"{name}.tsv").read_text().splitlines()[1:]
        rows = [line.split("\t")[::-1] for line in lines]
        rows = [f"{text}\t{int(label == 'yes')}" for text, label in rows]
        table = "\n".join(["sentence\tlabel", *rows]) + "\n"
        (folder / f"{name}.tsv").write_text(table)
    return str(tmp_path / "glue")


def test_scores_of_pretrained_models_and_from_scratch(
    saved_model, sst2, tmp_path, monkeypatch, capsys
):
    commands = []

    def in_this_process(name, flags):
        commands.append([name, *(f"--{k}={v}" for k, v in flags.items())])
        run_repeatedly(command_line.parse(ClassifierOptions, commands[-1]))

    def scores(options):
        best = 0.75 if options.init_checkpoint else 0.5
        best += options.random_seed % 2 / 8
        return {"eval_accuracy": best, "last_accuracy": best / 2}

    monkeypatch.setattr(pretraining_gain, "run_module", in_this_process)
    monkeypatch.setattr(classification, "train_and_apply", scores)
    model = saved_model("pretraining")
    options = glue_results.Options(
        model_dirs=str(model),
        data_dir=sst2,
        output_dir=str(tmp_path / "results"),
        tasks="sst-2",
        num_runs=2,
        optimizer="adamw",
    )
    glue_results.run(options)
    assert all("--optimizer=adamw" in command for command in commands)
    table = (tmp_path / "results" / "results.md").read_text()
    assert capsys.readouterr().out == table
    assert "model | pretrained | 0.812 | 0.750–0.875 | 0.406 |" in table
    assert "model | from scratch | 0.562 | 0.500–0.625 | 0.281 |" in table
    assert len(commands) == 2
    glue_results.run(options)  # nothing is repeated
    assert len(commands) == 2
    (pathlib.Path(sst2) / "SST-2" / "dev.tsv").write_text("sentence\tlabel\na\t1\n")
    with pytest.raises(UserError, match="other contents of --data_dir"):
        glue_results.run(options)
    assert len(commands) == 2


def test_a_peer_without_its_packages_is_one_sentence(sst2, tmp_path):
    options = finetune_epoch.Options(
        str(tmp_path / "vocab.txt"), sst2, peer_python="false"
    )
    with pytest.raises(UserError, match="--peer_python=false cannot import torch"):
        finetune_epoch.benchmark(options)


@pytest.mark.nightly
def test_epochs_take_turns(sst2, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(finetune_epoch, "load_tokenizer", _vocabulary(tmp_path))
    monkeypatch.setattr(turns, "Player", PlayerHere)
    options = finetune_epoch.Options(
        data_dir=sst2,
        spm_model_file="unused",
        albert_config_file=str(tmp_path / "tiny.json"),
        rows=33,
        fixed_rows=16,
        train_batch_size=16,
        max_seq_length=16,
        epochs=2,
    )
    finetune_epoch.benchmark(options)
    printed = capsys.readouterr().out
    assert "| this project, fixed length | " in printed


@pytest.mark.nightly
def test_first_step_is_timed_with_and_without_cache(sst2, tmp_path, monkeypatch):
    monkeypatch.setattr(first_step, "load_tokenizer", _vocabulary(tmp_path))
    commands, popen = [], subprocess.Popen
    monkeypatch.setattr(
        first_step.subprocess,
        "Popen",
        lambda command, **kwargs: commands.append(command) or popen(command, **kwargs),
    )
    options = first_step.Options(
        mixed_precision="bfloat16",
        figures_file=str(tmp_path / "figures.json"),
        data_dir=sst2,
        spm_model_file="unused",
        albert_config_file=str(tmp_path / "tiny.json"),
        max_seq_length=16,
        train_batch_size=8,
    )
    first_step.benchmark(options)
    assert ["--mixed_precision=bfloat16" in c for c in commands] == [True, True]
    rows = json.loads((tmp_path / "figures.json").read_text())["rows"]
    assert [row[0] for row in rows] == ["cold cache", "warm cache"]
    assert all(row[1] <= row[3] for row in rows)


def _vocabulary(tmp_path):
    return lambda path: load_tokenizer(tmp_path / "vocab.txt")
