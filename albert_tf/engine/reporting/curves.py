"""Plots of runs: measurements against the step."""

import math
import os
import re

import tensorflow as tf
from tensorflow.core.util.event_pb2 import Event

from albert_tf.display.plots import COLOURS
from albert_tf.display.plots import run_style
from albert_tf.display.plots import svg
from albert_tf.display.plots import write_plot
from albert_tf.io import storage

_COLUMNS = 3
_MAJORITY = "majority_"
# TensorBoard curves that the plot leaves out.
_LEFT_OUT = {
    "model_flop_utilisation",
    "sequences_per_second",
    "skipped",
    "steps_per_second",
}


def write_curves(directory, evaluations, evaluated="held out"):
    """Writes `curves.png`: one panel per value, from training and evaluations.

    A dashed line shows the score of a model that has learned nothing:
    `majority_accuracy` in the panel of `accuracy`.

    Args:
        directory: the run's directory, with the TensorBoard files in `train/`.
        evaluations: the entries of `history.json`.
        evaluated: the data of the evaluations, a name in `COLOURS`.
    """
    train = training_scalars(os.path.join(directory, "train"))
    held_out = evaluated_values(evaluations)
    majority = {
        name.replace(_MAJORITY, ""): held_out.pop(name)
        for name in list(held_out)
        if _MAJORITY in name
    }
    titles = [name for name in {**held_out, **train} if name not in _LEFT_OUT]
    if not titles:
        return
    sources = {"training": train, evaluated: held_out, "majority": majority}
    rows, size = _grid(titles)

    def draw(figure, names):
        for place, title in enumerate(titles):
            axes = figure.add_subplot(rows, _COLUMNS, place + 1)
            axes.set_title(names[place], fontsize="medium", parse_math=False)
            draw_curves(axes, {key: found.get(title) for key, found in sources.items()})

    write_plot(os.path.join(directory, "curves.png"), draw, size, titles)


def evaluated_values(evaluations):
    """Sorts the entries of a `history.json` as `training_scalars` are."""
    found = {}
    for entry in evaluations:
        for name, value in entry.items():
            if name not in ("step", "train_seconds"):
                found.setdefault(name, {})[entry["step"]] = value
    return found


def runs_picture(runs):
    """Draws the curves of several `RecordedRun`s: one panel per value; see `svg`."""
    panels = {}
    for kind in ("held_out", "training"):
        for number, run in enumerate(runs):
            for name, values in getattr(run, kind).items():
                if name not in _LEFT_OUT and _MAJORITY not in name:
                    title = f"{name}, {kind.replace('_', ' ')}"
                    panels.setdefault(title, {})[number] = sorted(values.items())
    rows, size = _grid(panels)

    def draw(figure):
        for place, (title, found) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(rows, _COLUMNS, place)
            axes.set_title(title, fontsize="medium", parse_math=False)
            axes.set_xlabel("step")
            for number, points in found.items():
                colour, dashes = run_style(number)
                style = {"color": colour, "linestyle": dashes}
                axes.plot(*zip(*points, strict=True), marker=".", markersize=3, **style)

    return svg(draw, size) if panels else None


def _grid(panels):
    """Returns the rows of a picture of panels, and its size in inches."""
    rows = math.ceil(len(panels) / _COLUMNS)
    return rows, (4 * _COLUMNS, 3 * rows)


def draw_curves(axes, curves):
    """Draws values against steps, each in the colour of its name in `COLOURS`.

    Args:
        axes: `matplotlib.axes.Axes`.
        curves: `{name: {step: value}}`; None values are not drawn. The values of
            "majority" are all the same.
    """
    axes.set_xlabel("step")
    for name, values in curves.items():
        style = {"label": name, "color": COLOURS[name]}
        if values and name == "majority":
            axes.axhline(next(iter(values.values())), linestyle="dashed", **style)
        elif values:
            steps = sorted(values)
            heights = [values[step] for step in steps]
            axes.plot(steps, heights, marker=".", markersize=3, **style)
    axes.legend(fontsize="small")


def training_scalars(directory):
    """Reads the scalars that a run wrote: `{name: {step: value}}`.

    A run that was killed and continued from a checkpoint wrote some steps twice; the
    later values count. Values of single variables are left out.
    """
    scalars = {}
    for path in sorted(storage.matching(directory, "events.*"), key=_place):
        found = _scalars_of_file(path)
        first = min((min(steps) for steps in found.values()), default=math.inf)
        for name in {**scalars, **found}:
            earlier = scalars.get(name, {})
            kept = {step: value for step, value in earlier.items() if step < first}
            scalars[name] = {**kept, **found.get(name, {})}
    return scalars


def _place(path):
    """Returns a sort key for event files: second, process and count in the name."""
    return [int(number) for number in re.findall(r"\d+", os.path.basename(path))]


def _scalars_of_file(path):
    found = {}
    try:
        for record in tf.data.TFRecordDataset(path):
            event = Event.FromString(record.numpy())
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "scalars" and (
                    "/" not in value.tag
                ):
                    number = float(tf.make_ndarray(value.tensor))
                    found.setdefault(value.tag, {})[event.step] = number
    except tf.errors.DataLossError:
        pass  # the process was killed while writing; earlier records are whole
    return found
