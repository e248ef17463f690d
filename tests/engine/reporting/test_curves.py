"""The picture of a run, from the run's files."""

import math

import pytest

from albert_tf.display import plots
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
    first = RunHistory(tmp_path / "other", 0)
    for step in (10, 20):
        first.write_scalars("train", step, {"loss": 3.0, "once": 1.0})
    write_try(tmp_path / "other", 15, (20, 25), loss=2.0)
    assert training_scalars(tmp_path / "other" / "train")["once"] == {10: 1.0}


def test_tries_are_counted_as_numbers(tmp_path):
    folder = tmp_path / "train"
    for number, loss in ((9, 3.0), (10, 2.0)):
        known = {*folder.glob("*")}
        write_try(tmp_path, 0, (10,), loss=loss)
        (path,) = {*folder.iterdir()} - known
        path.rename(folder / f"events.out.tfevents.17000.host.1.{number}.v2")
    assert training_scalars(folder)["loss"] == {10: 2.0}


def test_a_file_cut_off_by_a_kill_is_read_as_far_as_it_goes(tmp_path):
    write_try(tmp_path, 0, (10, 20, 30), loss=3.0)
    (path,) = (tmp_path / "train").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"loss")])
    assert training_scalars(tmp_path / "train")["loss"] == {10: 3.0, 20: 3.0}


def test_a_damaged_history_begins_anew_and_one_that_is_gone_is_missed(tmp_path):
    """Without the evaluations a run would take a worse model for the best."""
    path = tmp_path / "history.json"
    path.write_bytes(b"\xff")
    history = RunHistory(tmp_path, 7)
    assert history.evaluations == []
    history.add_evaluation(7, 1.0, {"loss": 2.0})
    assert read_history(path) == history.evaluations != []
    path.write_text(path.read_text().replace("2.0", "3.0"))
    assert read_history(path) == []
    other = tmp_path / "other" / path.name
    other.parent.mkdir()
    other.write_text('[{"step": 1, "loss": null, "accuracy": 1}]')
    assert len(read_history(other)) == 1
    for entry in ('{"step": 1, "loss": "2"}', '{"step": 1.5}', '{"loss": 2.0}', "1"):
        other.write_text(f"[{entry}]")
        assert read_history(other) == []
    path.unlink()
    with pytest.raises(UserError, match="history.json is missing, though"):
        RunHistory(tmp_path, 7)


def test_what_lies_beyond_the_restored_step_is_forgotten(tmp_path):
    history = RunHistory(tmp_path, 0)
    for done in (5, 7):
        history.add_evaluation(done, 1.0, {"pearson": float("nan")})
    for step, kept in ((7, [5, 7]), (6, [5]), (5, [5])):
        again = RunHistory(tmp_path, step)
        assert [entry["step"] for entry in again.evaluations] == kept
        assert again.has_evaluation(7) == (step == 7)
    assert '"pearson": null' in (tmp_path / "history.json").read_text()
    entry, *_ = read_history(tmp_path / "history.json")
    assert math.isnan(entry["pearson"])


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
    scores = {
        "accuracy": 0.5,
        "majority_accuracy": 0.4,
        "loss": 2.0,
        "other_accuracy": 0.7,
        "other_majority_accuracy": 0.3,
    }
    evaluated = "training data"
    found = panels([{"step": 10, "train_seconds": 0.0, **scores}], evaluated)
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


def test_without_matplotlib_a_line_says_how_to_get_it(lines, monkeypatch, tmp_path):
    monkeypatch.setattr(plots, "Figure", None)
    plots._say_how_to_get_them.cache_clear()
    for _ in range(2):
        write_curves(tmp_path, [{"step": 1, "train_seconds": 1.0, "loss": 2.0}])
    assert not list(tmp_path.iterdir())
    (line,) = (line for line in lines if "pip install 'albert-tf[plots]'" in line)
