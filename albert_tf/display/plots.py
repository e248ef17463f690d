"""Pictures, where matplotlib (the extra `plots`) is installed."""

import contextlib
import functools
import io
import logging as standard_logging
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
    "training data": "#56B4E9",  # evaluated where nothing is held out
    "pretrained": "#009E73",
    "from scratch": "#CC79A7",
    "majority": "#555555",
}
"""What each colour means in every picture. Those who confuse red and green can tell
them apart (Okabe and Ito, Color Universal Design)."""

HELD_OUT_SHARES = "Oranges"
"""Colour map of shares of held-out rows, from none to all."""

# Fonts in which every character looks alike: a box, or nothing.
_NO_SHAPES = ("Last Resort", "LastResort", "Blank", "Emoji")


def write_plot(path, draw, size=(6.4, 4.8), labels=()):
    """Writes a PNG; without matplotlib, logs once how to get it.

    Labels of any script are drawn, with the fonts of the system that have their
    characters. If a character is in none, numbers stand for all labels, and
    `<name>_labels.tsv` beside the picture says which is which.

    Args:
        path: the file.
        draw: called with the `matplotlib.figure.Figure` to draw on and the list of
            what stands for each of `labels`.
        size: width and height in inches.
        labels: texts of users that the picture shows.

    Returns:
        Whether the file was written.

    Raises:
        OSError: it cannot be written.
    """
    if Figure is None:
        _say_how_to_get_them()
        return False
    labels = [" ".join(label.split()) for label in labels]
    with _any_weight_will_do(), matplotlib.rc_context():
        families, are_all_there = _families_for(
            frozenset("".join(labels)), *_default_font()
        )
        matplotlib.rcParams["font.family"] = families
        names = labels if are_all_there else list(map(str, range(len(labels))))
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, names)
        if not are_all_there:
            _write_legend(path, figure, names, labels)
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())
    return True


@contextlib.contextmanager
def _any_weight_will_do():
    """Keeps matplotlib from telling of families without letters of medium weight."""
    logger = standard_logging.getLogger(font_manager.__name__)
    level = logger.level
    logger.setLevel(standard_logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _write_legend(path, figure, numbers, labels):
    legend = f"{os.path.splitext(path)[0]}_labels.tsv"
    lines = map("\t".join, zip(numbers, labels, strict=True))
    write_atomically(legend, "".join(f"{line}\n" for line in lines))
    text = f"{os.path.basename(legend)} explains the numbers"
    figure.supxlabel(text, fontsize="small")


def _default_font():
    """The families that matplotlib is set to, and the file that this means."""
    families = tuple(matplotlib.rcParams["font.family"])
    return families, font_manager.findfont(font_manager.FontProperties())


@functools.cache
def _families_for(characters, default, default_file):
    """Fonts that have `characters` together: (families, whether they have all).

    Those of `_default_font` come first; each of the others adds as many characters as
    possible.
    """
    families = list(default)
    missing = characters - _held(font_manager.FontProperties(), characters) - {" "}
    others = _families_of_the_system() if missing else []
    while missing:
        held = {name: _held(_named(name), missing) for name in others}
        best = max(others, key=lambda name: len(held[name]), default=None)
        if best is None or not held[best]:
            return families, False
        families.append(best)
        missing -= held[best]
    return families, True


def _families_of_the_system():
    # Those that come with matplotlib have signs of mathematics in odd places.
    own = matplotlib.get_data_path()
    names = {
        font.name
        for font in font_manager.fontManager.ttflist
        if not font.fname.startswith(own)
        and not any(word in font.name for word in _NO_SHAPES)
    }
    # Plain letters first, where several fonts have the same characters.
    return sorted(names, key=lambda name: ("Sans" not in name, name))


def _named(family):
    return font_manager.FontProperties(family=[family])


def _held(properties, characters):
    """Those of `characters` that a font can draw in any size."""
    path = font_manager.findfont(properties)
    font = font_manager.get_font(path)
    if not font.scalable:
        return set()
    return {c for c in characters if font.get_char_index(ord(c))}


@functools.cache
def _say_how_to_get_them():
    logging.info(
        "Drawing no pictures, because matplotlib is missing: pip install "
        "'albert-tf[plots]'"
    )
