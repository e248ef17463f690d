"""The result files of a task on texts."""

from albert_tf.display.plots import HELD_OUT_SHARES
from albert_tf.display.plots import write_plot
from albert_tf.io.files import write_atomically
from albert_tf.io.files import write_json

_INCHES_A_LABEL = 0.6
_LARGEST_INCHES = 24
# More labels than this get no numbers in the cells: they would be illegible.
_MOST_NUMBERS = 30


def write_test_results(path, task, rows, probabilities):
    """Writes the probabilities (or the value) of each row, tab-separated.

    Args:
        path: the file.
        task: the `TextTask`.
        rows: number of each row in its file, int `[N]`.
        probabilities: `[N, outputs]`.
    """
    lines = ["\t".join(["row", *task.output_names])]
    for row, values in zip(rows, probabilities, strict=True):
        lines.append("\t".join(map(str, [row, *values])))
    write_atomically(path, "\n".join(lines) + "\n")


def write_submission(path, task, rows, predictions):
    """Writes `index<TAB>prediction`, as the GLUE server takes it."""
    lines = ["index\tprediction"]
    for row, prediction in zip(rows, predictions, strict=True):
        lines.append(f"{row}\t{task.label_text(prediction)}")
    write_atomically(path, "\n".join(lines) + "\n")


def write_errors(path, task, table, predictions):
    """Writes the rows that `task` finds worth a look: row, label, prediction, texts."""
    names = ["row", "label", "prediction", "text"]
    if table.text_pairs is not None:
        names.append("text_pair")
    lines = ["\t".join(names)]
    for i in task.worth_a_look(table.labels, predictions):
        texts = [table.texts[i]]
        if table.text_pairs is not None:
            texts.append(table.text_pairs[i])
        values = (table.labels[i], predictions[i])
        fields = [str(table.rows[i]), *map(task.label_text, values), *texts]
        lines.append("\t".join(" ".join(field.split()) for field in fields))
    write_atomically(path, "\n".join(lines) + "\n")


def write_class_scores(path, labels, confusion, scores):
    """Writes the confusion matrix and the scores of each class as JSON.

    Args:
        path: the file.
        labels: names, in id order.
        confusion: int `[labels, labels]`, rows are labels, columns predictions; or
            `[labels, 2, 2]`, whether a row has the label and whether that was
            predicted.
        scores: a dict of scores for each label.
    """
    report = {
        "labels": labels,
        "confusion": confusion.tolist(),
        "classes": dict(zip(labels, scores, strict=True)),
    }
    write_json(path, report)


def write_confusion_plot(path, labels, confusion):
    """Writes a PNG of counts; the colour is the share of the row's label.

    Args:
        path: the file.
        labels: names, in the order of the rows and columns.
        confusion: int `[labels, labels]`; rows are labels, columns predictions.
    """
    shares = confusion / confusion.sum(axis=1, keepdims=True).clip(min=1)

    def draw(figure, names):
        axes = figure.add_subplot()
        image = axes.imshow(shares, cmap=HELD_OUT_SHARES, vmin=0.0, vmax=1.0)
        figure.colorbar(image, label="share of the label")
        places, plain = range(len(labels)), {"parse_math": False}  # "$" is a letter
        axes.set_xticks(places, names, rotation=45, ha="right", **plain)
        axes.set_yticks(places, names, **plain)
        axes.set_xlabel("prediction")
        axes.set_ylabel("label")
        if len(labels) > _MOST_NUMBERS:
            return
        for row, column in zip(*confusion.nonzero(), strict=True):
            colour = "white" if shares[row, column] > 0.5 else "black"
            count = f"{confusion[row, column]:,}"
            axes.text(column, row, count, color=colour, ha="center", va="center")

    side = min(3 + _INCHES_A_LABEL * len(labels), _LARGEST_INCHES)
    write_plot(path, draw, (side + 1, side), labels)
