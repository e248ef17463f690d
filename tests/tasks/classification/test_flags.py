"""Flags of training: what is built of them."""

import collections
import json

import numpy as np
import pytest

from albert_tf.cli.command_line import parse
from albert_tf.errors import UserError
from albert_tf.optimizers.adam import LAMB
from albert_tf.tasks import training
from albert_tf.tasks.classification import run
from albert_tf.tasks.classification.flags import ClassifierOptions
from tests.tasks.conftest import Built


@pytest.mark.slow
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


def test_where_files_go_and_how_many_are_kept(built, tmp_path):
    kept = {"keep_checkpoint_max": 2, "early_stopping_patience": 3}
    _, _, options, _ = built(**kept, cached_dir=tmp_path / "cached")
    assert (options.keep_checkpoint_max, options.patience) == (2, 3)
    assert options.best_metric == "accuracy"
    assert len(list((tmp_path / "cached").glob("*.npz"))) == 2
    assert not (tmp_path / "out" / "cache").exists()


@pytest.mark.slow
def test_the_score_that_picks_the_best_checkpoint(built, flags):
    for name in ("auc", "loss", "calibration_error"):
        options = built(best_metric=name)[2]
        assert options.best_metric == name
        assert options.lower_is_better == (name != "auc")
    with pytest.raises(
        UserError,
        match="--best_metric=f2: expected a score of the task custom: accuracy, .*loss",
    ):
        flags(do_train=True, best_metric="f2")


@pytest.mark.slow
def test_the_best_checkpoint_has_the_best_score(flags):
    run = {"do_train": True, "train_step": 6, "save_checkpoints_steps": 1}
    out = flags(**run, best_metric="loss", learning_rate=0.1)
    history = json.loads((out / "history.json").read_text())
    scores = {entry["step"]: entry["loss"] for entry in history}
    info = json.loads((out / "model" / "training_info.json").read_text())
    assert scores[info["step"]] == min(scores.values()) == info["dev"]["loss"]
    assert len(set(scores.values())) > 1


def test_balanced_weights_reach_the_batches(flags, monkeypatch, tmp_path):
    def stop(trainer, stages, *arguments):
        raise Built(next(iter(stages[0].dataset)))

    monkeypatch.setattr(training.Trainer, "train", stop)
    table = (tmp_path / "data" / "train.tsv").read_text().splitlines()[1:]
    counts = collections.Counter(line.split()[0] for line in table)
    expected = [len(table) / (2 * counts[label]) for label in ("no", "yes")]
    with pytest.raises(Built) as found:
        flags(do_train=True, class_weight="balanced")
    [batch] = found.value.args
    weights = np.take(expected, batch["labels"])
    np.testing.assert_allclose(batch["example_weights"], weights, rtol=1e-6)
    assert len(set(weights)) == 2


def test_a_frozen_encoder_stays(built):
    model, *_ = built(freeze_encoder=True)
    names = [variable.path for variable in model.trainable_variables]
    assert len(names) == 2
    assert all("classifier" in name for name in names)


def _read(command_line, **flags):
    options = parse(ClassifierOptions, ["run", *command_line(do_train=True, **flags)])
    return run.read_tables(options, None, predict=False)


def test_labels_and_bad_rows_by_flag(command_line, tmp_path):
    path = tmp_path / "data" / "train.tsv"
    path.write_text(path.read_text() + "ugly\ta film\n")
    task, examples = _read(command_line, labels="yes, no", skip_bad_rows=True)
    assert (task.kind, task.labels) == ("single_label", ("yes", "no"))
    assert examples["train"].num_skipped == 1


def test_columns_and_kind_of_labels_by_flag(command_line, tmp_path):
    for role in ("train", "dev"):
        table = "label\tsentence\tother\ngood|film\ta\tb\n"
        (tmp_path / "data" / f"{role}.tsv").write_text(table)
    more = {"label_kind": "multi_label", "text_pair_column": "other"}
    task, examples = _read(command_line, **more)
    assert (task.kind, task.labels) == ("multi_label", ("film", "good"))
    assert task.pair is True
    assert (examples["dev"].texts, examples["dev"].text_pairs) == (["a"], ["b"])
