"""Folders of checkpoints after a run was cut off anywhere."""

import os
import pathlib
import signal

import pytest
import tensorflow as tf

from albert_tf.engine.checkpointing import Checkpointing
from albert_tf.engine.checkpointing import RunRecord
from albert_tf.errors import UserError
from albert_tf.io import storage


@pytest.fixture
def checkpoints(tmp_path):
    """Makes the checkpoints of one number, as a process that starts finds them."""

    def make(keep=0, writes=True, folder=tmp_path):
        number, record = tf.Variable(0.0), RunRecord()
        checkpointing = Checkpointing(
            str(folder), keep, writes, record, [], number=number
        )
        return number, checkpointing

    return make


def save(made, *steps):
    number, checkpointing = made
    for step in steps:
        number.assign(step)
        checkpointing.save(step)


@pytest.mark.parametrize(
    ("contents", "writes"),
    [(None, True), (b"\x00\xff", False), (b'model_checkpoint_path: "', True)],
)
def test_a_lost_or_damaged_list_loses_no_checkpoint(
    checkpoints, tmp_path, contents, writes
):
    save(checkpoints(), 2, 9, 10)
    (tmp_path / "checkpoint").unlink()
    if contents is not None:
        (tmp_path / "checkpoint").write_bytes(contents)
    number, checkpointing = checkpoints(keep=2, writes=writes)
    assert checkpointing.restore() == str(tmp_path / "training-10")
    assert number.numpy() == 10
    if writes:
        last = tf.train.latest_checkpoint(str(tmp_path))
        assert last == str(tmp_path / "training-10")
    save((number, checkpointing), 12)
    left = {9, 10, 2} if not writes else {10, 12}
    assert {path.stem for path in tmp_path.glob("*.index")} == {
        f"training-{step}" for step in left
    }


def test_a_list_without_its_checkpoints_is_an_error(checkpoints, tmp_path):
    save(checkpoints(), 2)
    for path in tmp_path.glob("training-*"):
        path.unlink()
    with pytest.raises(UserError, match="checkpoint lists checkpoints, but all of"):
        checkpoints()


def test_a_missing_index_falls_back_with_a_warning(checkpoints, tmp_path, caplog):
    save(checkpoints(), 2, 4, 6)
    (tmp_path / "training-6.index").unlink()
    number, checkpointing = checkpoints(keep=3)
    assert checkpointing.restore() == str(tmp_path / "training-4")
    assert f"Skipping the checkpoint {tmp_path}/training-6" in caplog.text
    assert not list(tmp_path.glob("training-6.*"))
    save((number, checkpointing), 8)  # in the place of no other
    left = {path.stem for path in tmp_path.glob("*.index")}
    assert left == {f"training-{step}" for step in (2, 4, 8)}


def test_what_a_killed_save_leaves_is_removed(checkpoints, tmp_path):
    save(checkpoints(), 2)
    (tmp_path / "training-3_temp").mkdir()
    (tmp_path / "training-3_temp" / "part-00000").write_bytes(b"half")
    (tmp_path / "best-2.tmp").mkdir()
    (tmp_path / f"checkpoint.tmp{'0' * 32}").write_bytes(b"half")
    checkpoints(writes=False)
    assert (tmp_path / "training-3_temp").exists()
    _, checkpointing = checkpoints()
    assert not (tmp_path / "training-3_temp").exists()
    assert len(list(tmp_path.iterdir())) == 3  # the list, and two files
    assert checkpointing.restore() == str(tmp_path / "training-2")


@pytest.mark.slow
def test_a_signal_during_the_last_save_is_obeyed_after_it(
    make_linear_trainer, batches, monkeypatch
):
    save_checkpoint = tf.train.CheckpointManager.save

    def interrupted_save(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        return save_checkpoint(*arguments, **options)

    monkeypatch.setattr(tf.train.CheckpointManager, "save", interrupted_save)
    trainer = make_linear_trainer(2)
    with pytest.raises(SystemExit) as stop:
        trainer.train(batches())
    assert stop.value.code == 128 + signal.SIGTERM
    folder = pathlib.Path(trainer.options.output_dir) / "checkpoints"
    assert list(folder.glob("training-2.index"))


@pytest.mark.slow
def test_no_checkpoint_is_saved_between_bad_steps(make_linear_trainer, good_and_bad):
    """They would replace the checkpoints from which a run that diverges can go on."""
    good, bad = good_and_bad
    often = {"save_checkpoints_steps": 1, "iterations_per_loop": 1}
    trainer = make_linear_trainer(9, max_bad_steps=4, keep_checkpoint_max=2, **often)
    with pytest.raises(UserError, match="not finite in any step from 4 to 7.* delete"):
        trainer.train(good.take(3).concatenate(bad))
    folder = os.path.join(trainer.options.output_dir, "checkpoints")
    names = [os.path.basename(path) for path in storage.matching(folder, "*.index")]
    assert names == ["training-2.index", "training-3.index"]
