"""The picture of a run, from the run's files."""

import math

import pytest

from albert_tf.display.plots import COLOURS
from albert_tf.engine.reporting import curves
from albert_tf.engine.reporting.curves import training_scalars
from albert_tf.engine.reporting.curves import write_curves
from albert_tf.engine.reporting.summaries import RunHistory
from albert_tf.engine.reporting.summaries import read_history
from albert_tf.errors import UserError

pytestmark = pytest.mark.pictures


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


def test_a_damaged_history_begins_anew(tmp_path):
    path = tmp_path / "history.json"
    path.write_bytes(b"\xff")
    history = RunHistory(tmp_path, 7)
    assert history.evaluations == []
    history.add_evaluation(7, 1.0, {"loss": 2.0})
    assert read_history(path) == history.evaluations != []
    path.write_text(path.read_text().replace("2.0", "3.0"))
    assert read_history(path) == []


def test_a_history_that_is_gone_is_missed(tmp_path):
    """Without the evaluations a run would take a worse model for the best."""
    RunHistory(tmp_path, 0).add_evaluation(5, 1.0, {"loss": 2.0})
    (tmp_path / "history.json").unlink()
    with pytest.raises(UserError, match="history.json is missing, though"):
        RunHistory(tmp_path, 7)


def test_a_history_has_nan_as_null(tmp_path):
    history = RunHistory(tmp_path, 0)
    history.add_evaluation(5, 1.0, {"pearson": float("nan")})
    assert '"pearson": null' in (tmp_path / "history.json").read_text()
    (entry,) = read_history(tmp_path / "history.json")
    assert math.isnan(entry["pearson"])


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


@pytest.fixture
def panels(tmp_path, monkeypatch):
    """The panels of the picture of a run: `{title: {label: line}}`."""
    from matplotlib import figure as figure_module

    def draw(evaluations, *evaluated):
        figure = figure_module.Figure()

        def keep(path, draw, size, labels):
            draw(figure, labels)
            assert size == (12, 3 * -(-len(labels) // 3))

        monkeypatch.setattr(curves, "write_plot", keep)
        write_curves(str(tmp_path), evaluations, *evaluated)
        return {
            axes.get_title(): {line.get_label(): line for line in axes.lines}
            for axes in figure.axes
        }

    return draw


def test_the_majority_is_a_dashed_line_in_the_panel_of_its_score(panels, tmp_path):
    write_try(tmp_path, 0, (20, 10), loss=3.0)
    scores = {"accuracy": 0.5, "majority_accuracy": 0.4, "loss": 2.0}
    other = {"other_accuracy": 0.7, "other_majority_accuracy": 0.3}
    evaluations = [{"step": 10, "train_seconds": 0.0, **scores, **other}]
    found, evaluated = panels(evaluations, "training data"), "training data"
    assert set(found) == {"accuracy", "loss", "other_accuracy"}
    for name, height in (("accuracy", 0.4), ("other_accuracy", 0.3)):
        majority = found[name]["majority"]
        assert majority.get_linestyle() == "--"
        assert set(majority.get_ydata()) == {height}
        assert found[name][evaluated].get_linestyle() == "-"
    assert list(found["loss"]) == ["training", evaluated]
    assert list(found["loss"]["training"].get_xdata()) == [10, 20]
    for lines in found.values():
        for name, line in lines.items():
            assert line.get_color() == COLOURS[name]


@pytest.mark.parametrize(("step", "kept"), [(5, [5]), (6, [5]), (7, [5, 7])])
def test_what_lies_beyond_the_restored_step_is_forgotten(step, kept, tmp_path):
    history = RunHistory(tmp_path, 0)
    for done in (5, 7):
        history.add_evaluation(done, 1.0, {"loss": 2.0})
    again = RunHistory(tmp_path, step)
    assert [entry["step"] for entry in again.evaluations] == kept
    assert again.has_evaluation(7) == (step == 7)
