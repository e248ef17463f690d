"""The table and the plot of a run that `make demo` ends with."""

import json
import math
import platform

import numpy as np
import tensorflow as tf

from albert_tf.display.plots import write_plot
from albert_tf.display.progress import format_seconds
from albert_tf.engine.reporting.curves import draw_curves
from albert_tf.engine.reporting.summaries import read_history
from albert_tf.tokenization.parallel import available_cores
from data_pipeline.records import examples


def demo_table(output_dir, step_names):
    """Returns the table as Markdown.

    Args:
        output_dir: `pathlib.Path` of a finished demo.
        step_names: names of the steps, in order.
    """
    rows = [
        *_data_rows(output_dir),
        *_pretraining_rows(output_dir),
        *_classification_rows(output_dir),
        *_time_rows(output_dir, step_names),
    ]
    head = [f"| {machine_line()} | |", "|---|---|"]
    lines = [*head, *(f"| {k} | {v} |" for k, v in rows)]
    return "\n".join(lines) + "\n"


def machine_line():
    """Returns the machine's facts: cores, processor, Python and TensorFlow."""
    return (
        f"{available_cores()} CPU cores, {platform.machine()}, "
        f"Python {platform.python_version()}, TensorFlow {tf.__version__}"
    )


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _data_rows(output_dir):
    corpus = _read(output_dir / "text" / "corpus_info.json")
    data = _read(output_dir / "data" / "dataset_info.json")
    counts = data["counts"]
    size = f"{corpus['documents']:,} documents, {corpus['corpus_bytes'] / 1e6:.1f} MB"
    return [
        ("corpus", size),
        ("vocabulary", f"{data['tokenizer']['vocab_size']:,} pieces"),
        (
            "training data",
            f"{counts['sequences']:,} sequences, {counts['tokens'] / 1e6:.1f} M tokens",
        ),
    ]


def _pretraining_rows(output_dir):
    pretrained = output_dir / "pretrained"
    first, *_, last = _read(pretrained / "history.json")
    data = _read(output_dir / "data" / "dataset_info.json")
    entropy = unigram_entropy(
        sorted((output_dir / "data" / "held_out").glob("*.tfrecord")),
        data["max_seq_length"],
        data["max_predictions_per_seq"],
    )
    size = (pretrained / "model.weights.h5").stat().st_size / 1e6
    return [
        ("pretrained model", f"{size:.1f} MB of weights"),
        (
            "pretraining",
            f"{last['step']:,} steps in {format_seconds(last['train_seconds'])}",
        ),
        ("held-out MLM loss at the start", f"{first['masked_lm_loss']:.2f}"),
        ("unigram entropy of the held-out tokens", f"{entropy:.2f}"),
        ("held-out MLM loss at the end", f"{last['masked_lm_loss']:.2f}"),
        ("held-out MLM accuracy", f"{last['masked_lm_accuracy']:.1%}"),
        ("held-out SOP accuracy", f"{last['sentence_order_accuracy']:.1%}"),
    ]


def unigram_entropy(paths, max_seq_length, num_predictions):
    """Computes the entropy in nats of the held-out tokens, as they were before masking.

    It is the loss of a model that knows how often each token occurs and nothing else.
    """
    counts = 0
    lengths = {"tokens": max_seq_length, "predictions": num_predictions}
    for batch in tf.data.TFRecordDataset([str(p) for p in paths]).batch(512):
        features = examples.parse_padded("static", batch, lengths, vocab_size=None)
        features = {name: value.numpy() for name, value in features.items()}
        ids = features["input_ids"]  # [B, S]
        rows, places = np.nonzero(features["masked_lm_weights"])
        positions = features["masked_lm_positions"][rows, places]
        ids[rows, positions] = features["masked_lm_ids"][rows, places]
        special = _last_of_segment(ids, features)  # the separators
        special[:, 0] = True  # [CLS]
        real = (features["input_mask"] > 0) & ~special
        counts = counts + np.bincount(ids[real], minlength=1 << 16)
    shares = counts[counts > 0] / counts.sum()
    return -float(np.sum(shares * np.log(shares)))


def _last_of_segment(ids, features):
    """Marks the separators: the last real token, and the last before segment 1."""
    real = features["input_mask"] > 0
    segments = np.where(real, features["segment_ids"], 2)
    following = np.concatenate([segments[:, 1:], np.full_like(ids[:, :1], 2)], axis=1)
    return real & (segments != following)


def _classification_rows(output_dir):
    pretrained = _results(output_dir / "classifier")
    scratch = _results(output_dir / "scratch")
    served = sum(
        file.stat().st_size
        for file in (output_dir / "served").rglob("*")
        if file.is_file()
    )
    rows = []
    for split, prefix in (("dev", "eval_"), ("test", "test_")):
        majority = pretrained[
            "majority_accuracy" if split == "dev" else "test_majority_accuracy"
        ]
        rows.append(
            (
                f"classification accuracy ({split}): pretrained / scratch / majority",
                f"{pretrained[prefix + 'accuracy']:.1%} / "
                f"{scratch[prefix + 'accuracy']:.1%} / {majority:.1%}",
            )
        )
    return [*rows, ("SavedModel", f"{served / 1e6:.1f} MB")]


def _results(directory):
    lines = (directory / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(" = ") for line in lines)
    return {name: float(value) for name, value in pairs}


def _time_rows(output_dir, step_names):
    seconds = [_read(output_dir / "steps" / f"{n}.json")["seconds"] for n in step_names]
    shown = ", ".join(
        f"{name} {format_seconds(math.ceil(s))}"
        for name, s in zip(step_names, seconds, strict=True)
    )
    return [("time", f"{format_seconds(math.ceil(sum(seconds)))} ({shown})")]


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
