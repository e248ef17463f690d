"""Plots, drawn if matplotlib (the extra `plots`) is installed."""

import functools
import io
import os

from absl import logging

from albert_tf.io.files import write_atomically

try:
    import matplotlib
    from matplotlib import font_manager
    from matplotlib.figure import Figure
except ImportError:
    Figure = None

COLOURS = {
    "training": "#0072B2",
    "held out": "#D55E00",
    "training data": "#56B4E9",  # evaluated if nothing is held out
    "pretrained": "#009E73",
    "from scratch": "#CC79A7",
    "majority": "#555555",
}
"""The colour of each kind of curve in every plot. Readers who confuse red and green can
tell them apart (Okabe and Ito, Color Universal Design)."""

_OF_RUNS = [name for name in COLOURS if name != "majority"]
_DASHES = ("solid", "dashed", "dotted")

HELD_OUT_SHARES = "Oranges"
"""The colour map for shares of held-out rows, from none to all."""


def run_style(number):
    """Returns the colour and the dashes of one of several runs, counted from 0."""
    colour = COLOURS[_OF_RUNS[number % len(_OF_RUNS)]]
    return colour, _DASHES[number // len(_OF_RUNS) % len(_DASHES)]


def write_plot(path, draw, size=(6.4, 4.8), labels=()):
    """Writes a PNG; without matplotlib, logs once how to install it.

    If matplotlib's fonts (`font.family` in a matplotlibrc) lack a character of a label,
    numbers replace all labels; `<name>_labels.tsv` beside the picture explains them.

    Args:
        path: the file.
        draw: called with the `matplotlib.figure.Figure` to draw on and the list of
            texts to show for `labels`.
        size: width and height in inches.
        labels: texts of users that the picture shows.

    Returns:
        Whether the file was written.

    Raises:
        OSError: the file cannot be written.
    """
    if Figure is None:
        _say_how_to_get_them()
        return False
    labels = [" ".join(label.split()) for label in labels]
    are_drawn = _are_in_fonts({*"".join(labels)} - {" "})
    names = labels if are_drawn else list(map(str, range(len(labels))))
    figure = Figure(figsize=size, layout="constrained")
    draw(figure, names)
    if not are_drawn:
        _write_legend(path, figure, names, labels)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())
    return True


def svg(draw, size):
    """Draws a picture for an HTML page.

    Letters stay text, which a browser shows in fonts of its own.

    Args:
        draw: called with the `matplotlib.figure.Figure` to draw on.
        size: width and height in inches.

    Returns:
        The element `<svg>`; None without matplotlib, after logging how to install it.
    """
    if Figure is None:
        _say_how_to_get_them()
        return None
    picture = io.BytesIO()
    # The salt makes the ids of elements the same in every process.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "albert-tf"}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(picture, format="svg", metadata={"Date": None})
    text = picture.getvalue().decode()
    return text[text.index("<svg") :]


def _write_legend(path, figure, numbers, labels):
    legend = f"{os.path.splitext(path)[0]}_labels.tsv"
    lines = map("\t".join, zip(numbers, labels, strict=True))
    write_atomically(legend, "".join(f"{line}\n" for line in lines))
    text = f"{os.path.basename(legend)} explains the numbers"
    figure.supxlabel(text, fontsize="small")


def _are_in_fonts(characters):
    """Returns whether matplotlib's configured fonts have all `characters`."""
    for family in matplotlib.rcParams["font.family"]:
        path = font_manager.findfont(font_manager.FontProperties(family=[family]))
        characters = characters - {*map(chr, font_manager.get_font(path).get_charmap())}
    return not characters


@functools.cache
def _say_how_to_get_them():
    logging.info(
        "Drawing no pictures, because matplotlib is missing: pip install "
        "'albert-tf[plots]'"
    )
