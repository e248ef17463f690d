"""A picture of a confusion matrix."""

from albert_tf.plots import write_plot

_INCHES_A_LABEL = 0.6
_LARGEST_INCHES = 24
# More labels than this get no numbers in the cells: nobody could read them.
_MOST_NUMBERS = 30


def write_confusion_plot(path, labels, confusion):
    """Writes a PNG of counts; the colour is the share of the row's label.

    Args:
        path: the file.
        labels: names, in the order of the rows and columns.
        confusion: int `[labels, labels]`; rows are labels, columns predictions.
    """
    shares = confusion / confusion.sum(axis=1, keepdims=True).clip(min=1)

    def draw(figure):
        axes = figure.add_subplot()
        image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        figure.colorbar(image, label="share of the label")
        places, plain = range(len(labels)), {"parse_math": False}  # "$" is a letter
        axes.set_xticks(places, labels, rotation=45, ha="right", **plain)
        axes.set_yticks(places, labels, **plain)
        axes.set_xlabel("prediction")
        axes.set_ylabel("label")
        if len(labels) > _MOST_NUMBERS:
            return
        for row, column in zip(*confusion.nonzero(), strict=True):
            colour = "white" if shares[row, column] > 0.5 else "black"
            count = f"{confusion[row, column]:,}"
            axes.text(column, row, count, color=colour, ha="center", va="center")

    side = min(3 + _INCHES_A_LABEL * len(labels), _LARGEST_INCHES)
    write_plot(path, draw, (side + 1, side))
