"""Pictures, where matplotlib (the extra `plots`) is installed."""

import functools
import io

from absl import logging

from albert_tf.files import write_atomically

try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None


def write_plot(path, draw, size=(6.4, 4.8)):
    """Writes a PNG; without matplotlib, logs once how to get it.

    Args:
        path: the file.
        draw: draws on the `matplotlib.figure.Figure` that it is called with.
        size: width and height in inches.

    Returns:
        Whether the file was written.

    Raises:
        OSError: it cannot be written.
    """
    if Figure is None:
        _say_how_to_get_them()
        return False
    figure = Figure(figsize=size, layout="constrained")
    draw(figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())
    return True


@functools.cache
def _say_how_to_get_them():
    logging.info("No pictures are drawn: they need pip install 'albert-tf[plots]'")
