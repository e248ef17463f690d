"""Pictures, where matplotlib (the extra `plots`) is installed."""

import io

from absl import logging

from albert_tf.files import write_atomically

try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None


def write_plot(path, draw, size=(6.4, 4.8)):
    """Writes a PNG; without matplotlib, logs a line that says how to get it.

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
        logging.info("No %s: it needs pip install 'albert-tf[plots]'", path)
        return False
    figure = Figure(figsize=size, layout="constrained")
    draw(figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())
    return True
