"""The picture that ends `make demo`: the gain from pretraining."""

from albert_tf.display.plots import write_plot
from albert_tf.engine.reporting.curves import draw_curves
from albert_tf.engine.reporting.summaries import read_history


def draw_accuracy(output_dir):
    """Writes `accuracy.png`: dev accuracy of both classifiers, step by step.

    Args:
        output_dir: `pathlib.Path` of a demo whose classifiers are trained.
    """
    histories = {
        "pretrained": read_history(output_dir / "classifier" / "history.json"),
        "from scratch": read_history(output_dir / "scratch" / "history.json"),
    }
    curves = {name: _by_step(found, "accuracy") for name, found in histories.items()}
    curves["majority"] = _by_step(histories["pretrained"], "majority_accuracy")

    def draw(figure, _):
        axes = figure.add_subplot(title="dev accuracy")
        draw_curves(axes, curves)

    write_plot(output_dir / "accuracy.png", draw)


def _by_step(history, name):
    return {entry["step"]: entry[name] for entry in history}
