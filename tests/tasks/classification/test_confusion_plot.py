"""The picture of a confusion matrix."""

import numpy as np
import pytest
from matplotlib import image as matplotlib_image

from albert_tf.tasks.classification.text_task import write_confusion_plot

pytestmark = pytest.mark.pictures


def test_many_right_is_dark_and_none_is_light(tmp_path):
    path = tmp_path / "confusion.png"
    confusion = np.array([[97, 3], [0, 0]])
    write_confusion_plot(path, ["no", "$no$ \\"], confusion)
    picture = matplotlib_image.imread(path)[..., :3].mean(axis=-1)
    height, width = picture.shape
    cells = picture[int(height * 0.1) : int(height * 0.6), int(width * 0.2) :]
    assert 0.0 < (cells < 0.4).mean() < 0.5  # the one dark cell
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.slow
def test_many_labels_are_drawn_too(tmp_path):
    path = tmp_path / "confusion.png"
    names = [f"label {i}" for i in range(31)]
    write_confusion_plot(path, names, np.eye(31, dtype=int))
    assert path.stat().st_size > 5000
