"""The picture of a run, from what the run has written."""

import pytest

from albert_tf.engine.reporting.curves import training_scalars
from albert_tf.engine.reporting.curves import write_curves
from albert_tf.engine.reporting.summaries import RunHistory
from albert_tf.engine.reporting.summaries import read_history


def write_try(directory, start, steps, loss):
    """Writes scalars as one try of a run does."""
    history = RunHistory(directory, start)
    for step in steps:
        history.write_scalars("train", step, {"loss": loss, "skipped": 0.0})
    history.write_distribution(step, "trust_ratio", {"kernel": 1.0})


def test_the_later_try_counts(tmp_path):
    write_try(tmp_path, 0, (10, 20, 30), loss=3.0)
    write_try(tmp_path, 15, (20, 25), loss=2.0)
    scalars = training_scalars(tmp_path / "train")
    assert scalars["loss"] == {10: 3.0, 20: 2.0, 25: 2.0}
    assert set(scalars) == {"loss", "skipped"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}x",
        b"\xff",
        b"[" * 200_000,
        b"3",
        b"[3]",
        b'[{"loss": 1}]',
        b'[{"step": "a"}]',
        b'[{"step": 5, "loss": "low"}]',
        b'{"step": 5}',
    ],
)
def test_a_damaged_history_begins_anew(content, tmp_path):
    (tmp_path / "history.json").write_bytes(content)
    history = RunHistory(tmp_path, 7)
    assert history.evaluations == []
    history.add_evaluation(7, 1.0, {"loss": 2.0})
    assert read_history(tmp_path / "history.json") == history.evaluations != []


def test_tries_are_counted_as_numbers(tmp_path):
    folder = tmp_path / "train"
    write_try(tmp_path, 0, (10,), loss=3.0)
    (first,) = folder.iterdir()
    write_try(tmp_path, 0, (10,), loss=2.0)
    (second,) = set(folder.iterdir()) - {first}
    first.rename(folder / "events.out.tfevents.17000.host.1.9.v2")
    second.rename(folder / "events.out.tfevents.17000.host.1.10.v2")
    assert training_scalars(folder)["loss"] == {10: 2.0}


def test_a_file_cut_off_by_a_kill_is_read_as_far_as_it_goes(tmp_path):
    write_try(tmp_path, 0, (10, 20, 30), loss=3.0)
    (path,) = (tmp_path / "train").iterdir()
    whole = path.read_bytes()
    place = whole.rindex(b"loss")
    path.write_bytes(whole[:place])
    assert training_scalars(tmp_path / "train")["loss"] == {10: 3.0, 20: 3.0}


def test_nothing_measured_gives_no_picture(tmp_path):
    write_curves(str(tmp_path), [])
    assert not list(tmp_path.iterdir())


def test_held_out_values_alone_give_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    evaluations = [{"step": 0, "train_seconds": 0.0, "f1": 0.5}]
    write_curves(str(tmp_path), evaluations)
    assert (tmp_path / "curves.png").stat().st_size > 1000
