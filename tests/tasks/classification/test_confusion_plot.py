"""The picture of a confusion matrix."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from albert_tf.display import plots
from albert_tf.tasks.classification.report import ClassificationReport
from albert_tf.tasks.classification.text_task import write_confusion_plot

pytestmark = pytest.mark.pictures


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """Draws a matrix: size in inches, limits and colour map, counts and colours."""
    figures = []

    def figure_of(**settings):
        figures.append(Figure(**settings))
        return figures[-1]

    def draw(confusion):
        names = ["no", "$no$ \\", *map(str, range(2, len(confusion)))]
        monkeypatch.setattr(plots, "Figure", figure_of)
        write_confusion_plot(tmp_path / "confusion.png", names, np.array(confusion))
        axes, image = figures[-1].axes[0], figures[-1].axes[0].images[0]
        texts = [(text.get_text(), text.get_color()) for text in axes.texts]
        sides = figures[-1].get_size_inches().tolist()
        return sides, (*image.get_clim(), image.get_cmap().name), texts

    return draw


def test_a_count_is_seen_on_its_share(drawn, tmp_path):
    texts = [("1,097", "white"), ("3", "black"), ("1", "black"), ("1", "black")]
    found = drawn([[1097, 3], [1, 1]])
    assert found == ([pytest.approx(5.2), 4.2], (0.0, 1.0, "Oranges"), texts)
    assert [path.name for path in tmp_path.iterdir()] == ["confusion.png"]
    scores = {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}
    classes = dict.fromkeys(("no", "yes"), scores)
    ClassificationReport(1.0, classes, np.eye(2, dtype=int)).save(tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_many_labels_have_no_counts(drawn, monkeypatch):
    monkeypatch.setattr(Figure, "savefig", lambda *args, **kwargs: None)
    for labels, side, counts in ((30, 21, 30), (36, 24, 0)):
        sides, _, texts = drawn(np.eye(labels, dtype=int).tolist())
        assert (sides, len(texts)) == ([side + 1, side], counts)
