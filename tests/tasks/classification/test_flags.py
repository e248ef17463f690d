"""Flags of training: those that change the result, and those that must not."""

import json

import pytest

from albert_tf.cli.command_line import parse
from albert_tf.engine import compilation
from albert_tf.tasks.classification import run
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.loading import initial_model
from albert_tf.tasks.registry import create_task

_CHANGES = [
    {"optimizer": "lamb"},
    {"random_seed": 1},
    {"albert_dropout_prob": 0.5},
    {"mixed_precision": "bfloat16"},
    {"layer_decay": 0.5},
    {"pad_to_max_length": True},  # other rows meet in a batch
    {"use_xla": True},  # draws other dropout bits
]
_NO_CHANGE = {
    "iterations_per_loop": 1,
    "eval_batch_size": 3,
    "depth_loop": True,
    "rematerialize": True,
    "use_xla": None,  # the default does not compile on a CPU
}


def _loss(flags, directory, **changes):
    flags(do_train=True, output_dir=directory, train_step=4, **changes)
    return json.loads((directory / "history.json").read_text())[-1]["loss"]


@pytest.mark.slow
def test_flags_change_the_result_or_leave_it(flags, tmp_path):
    expected = _loss(flags, tmp_path / "plain")
    for number, changes in enumerate(_CHANGES):
        loss = _loss(flags, tmp_path / f"change{number}", **changes)
        assert abs(loss - expected) > 1e-6, changes
    loss = _loss(flags, tmp_path / "same", **_NO_CHANGE)
    assert loss == pytest.approx(expected, rel=1e-4)


def test_the_type_of_the_devices_is_taken(flags, monkeypatch):
    monkeypatch.setattr(compilation, "bfloat16_units", lambda: ("amx_bf16",))
    found = []
    monkeypatch.setattr(run, "train_and_apply", lambda o: found.append(o) or {})
    flags(do_train=True, mixed_precision="auto")
    assert found[0].mixed_precision == "bfloat16"


@pytest.mark.slow
def test_where_files_go_and_how_many_are_kept(flags, tmp_path):
    out = flags(
        do_train=True,
        train_step=6,
        save_checkpoints_steps=2,
        keep_checkpoint_max=2,
        cached_dir=tmp_path / "cached",
    )
    kept = sorted(path.stem for path in (out / "checkpoints").glob("*.index"))
    assert kept == ["training-4", "training-6"]
    assert len(list((tmp_path / "cached").glob("*.npz"))) == 2
    assert not (out / "cache").exists()


def test_case_is_kept_on_demand(command_line, tmp_path):
    def tokenizer(*more):
        argv = ["run_classifier.py", *command_line(do_train=True), *more]
        start = parse(ClassifierOptions, argv)
        return initial_model(start, create_task("regression", "t"))[1]

    assert tokenizer().tokenize("GOOD") == ["good"]
    assert tokenizer("--nodo_lower_case").tokenize("GOOD") == ["[UNK]"]


def test_labels_and_bad_rows_by_flag(flags, tmp_path):
    path = tmp_path / "data" / "train.tsv"
    path.write_text(path.read_text() + "ugly\ta film\n")
    out = flags(do_train=True, train_step=1, labels="yes,no", skip_bad_rows=True)
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert info["task"]["labels"] == ["yes", "no"]
    assert create_task(**info["task"]).parse_label("no") == 1
