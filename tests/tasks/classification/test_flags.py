"""Flags of training: what is built of them."""

import json

import numpy as np
import pytest

from albert_tf import bundle
from albert_tf.cli.command_line import parse
from albert_tf.engine import compilation
from albert_tf.optimizers.adam import LAMB
from albert_tf.tasks.classification import run
from albert_tf.tasks.classification.flags import ClassifierOptions
from albert_tf.tasks.registry import create_task
from albert_tf.tasks.registry import read_task


def test_what_flags_build(built):
    model, optimizer, options, width = built()
    assert (model.compute_dtype, width) == ("float32", None)
    assert (options.use_xla, options.seed) == (False, 12345)
    head = model.classifier.output_weights.numpy()
    changes = {"optimizer": "lamb", "random_seed": 1, "albert_dropout_prob": 0.5}
    changes |= {"mixed_precision": "bfloat16", "pad_to_max_length": True}
    model, optimizer, options, width = built(**changes, use_xla=True, train_step=7)
    assert isinstance(optimizer, LAMB)
    assert (model.compute_dtype, width) == ("bfloat16", 16)
    assert model.config.hidden_dropout_prob == 0.5
    assert (options.use_xla, options.seed) == (True, 1)
    assert options.num_train_steps == 7
    assert built(num_train_epochs=1.5)[2].num_train_steps == 6  # of 64 rows
    assert np.abs(model.classifier.output_weights.numpy() - head).max() > 1e-3
    model, _, options, _ = built(depth_loop=True, rematerialize=True, use_xla=None)
    assert model.execution == {"depth_loop": True, "rematerialize": True}
    assert not options.use_xla  # the default does not compile on a CPU


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
        return start.start.model(create_task("regression", "t"))[1]

    assert tokenizer().tokenize("GOOD") == ["good"]
    assert tokenizer("--nodo_lower_case").tokenize("GOOD") == ["[UNK]"]


def test_labels_and_bad_rows_by_flag(flags, tmp_path):
    path = tmp_path / "data" / "train.tsv"
    path.write_text(path.read_text() + "ugly\ta film\n")
    out = flags(do_train=True, train_step=1, labels="yes,no", skip_bad_rows=True)
    head = json.loads((out / "model" / "head.json").read_text())
    assert head["labels"] == ["yes", "no"]
    assert read_task(bundle.open(out / "model")).parse_label("no") == 1
