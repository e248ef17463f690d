"""The report of a classifier on labelled texts: scores and confusions of labels."""

import dataclasses
import os
import pathlib

import numpy as np

from albert_tf.display.html_page import isolated
from albert_tf.display.html_page import write_page
from albert_tf.errors import UserError
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json
from albert_tf.tasks.classification.text_task import write_confusion_plot

_SCORES = ("precision", "recall", "f1", "support")
_TITLE, _ENDINGS = "Classification report", (".txt", ".html", ".json", ".png")
_CONFUSIONS = "Rows are labels, columns are predictions."


@dataclasses.dataclass(frozen=True, eq=False)
class ClassificationReport:
    """Scores and confusions by label. Its `str` is a table; notebooks show it as HTML.

    Attributes:
        accuracy: the share of texts whose labels are all right.
        classes: a dict of `precision`, `recall`, `f1` and `support` by label.
        confusion: int `[labels, labels]`, rows are labels, columns are predictions. For
            several labels per text `[labels, 2, 2]`: whether the text has the label,
            and whether that was predicted.
    """

    accuracy: float
    classes: dict[str, dict[str, float]]
    confusion: np.ndarray

    def to_dict(self) -> dict:
        """Returns the report as JSON values."""
        return {**vars(self), "confusion": self.confusion.tolist()}

    def save(self, path: str | os.PathLike) -> None:
        """Writes the report as its name ends: .txt, .html, .json, or .png.

        A picture shows the confusions, and needs matplotlib (`albert-tf[plots]`).

        Raises:
            UserError: the name ends otherwise; a picture is of several labels per text,
                which have none, or matplotlib is missing.
        """
        ending = pathlib.Path(path).suffix
        if ending == ".txt":
            write_atomically(path, f"{self}\n")
        elif ending == ".json":
            write_json(path, self.to_dict())
        elif ending == ".html":
            write_page(path, _TITLE, f"Accuracy {self.accuracy:.3f}", self._tables())
        elif ending != ".png":
            expected = ", ".join(_ENDINGS)
            raise UserError(f"{path}: expected a name that ends in {expected}.")
        elif self.confusion.ndim > 2:
            raise UserError(
                f"{path}: several labels per text have no picture of confusions; "
                "save the report as .txt, .html or .json."
            )
        elif not write_confusion_plot(path, [*self.classes], self.confusion):
            raise UserError(
                f"{path}: pictures need matplotlib: pip install 'albert-tf[plots]'."
            )

    def __str__(self):
        header, *rows = self._rows()
        width = max(len(row[0]) for row in (header, *rows))
        lines = [
            f"{name:<{width}}" + "".join(f"{cell:>11}" for cell in cells)
            for name, *cells in (header, *rows)
        ]
        return "\n".join([*lines, "", f"accuracy {self.accuracy:.3f}"])

    def _repr_html_(self):
        return "\n".join(self._tables())

    def _rows(self):
        """Lists the cells of the table: a header, labels, and their mean."""
        rows = [
            (label, *(f"{own[name]:.3f}" for name in _SCORES[:-1]), str(own["support"]))
            for label, own in self.classes.items()
        ]
        values = [[own[name] for name in _SCORES] for own in self.classes.values()]
        *means, _ = np.mean(values, axis=0)
        total = str(sum(own["support"] for own in self.classes.values()))
        return [("", *_SCORES), *rows, ("mean", *(f"{v:.3f}" for v in means), total)]

    def _tables(self):
        """Lists the HTML of the tables of scores and, of single labels, confusions."""
        tables = [_table(self._rows())]
        if self.confusion.ndim == 2:
            labels = [*self.classes]
            counts = zip(labels, self.confusion.tolist(), strict=True)
            rows = [("", *labels), *((label, *map(str, row)) for label, row in counts)]
            tables += [f"<p>{_CONFUSIONS}</p>", _table(rows)]
        return tables


def _table(rows):
    lines = []
    for place, row in enumerate(rows):
        tag = "td" if place else "th"
        cells = "".join(f"<{tag}>{isolated(cell)}</{tag}>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"
